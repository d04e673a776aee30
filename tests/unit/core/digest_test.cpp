// Goal: a digest is the same number on every machine and build, and tells inputs apart. Method: the
// published XXH3 values, literals of our own framing, and inputs that a careless framing confuses.
#include "eplb/core/digest.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace eplb {
namespace {

std::uint64_t digest_of_texts(std::string_view first, std::string_view second) {
  Digest digest;
  digest.add(first);
  digest.add(second);
  return digest.value();
}

TEST_CASE("the digest of a text is its XXH3 with the seed") {
  CHECK(digest_of("") == 0x2D06800538D394C2U);
  CHECK(digest_of("a") == 0xE6C632B61E964E1FU);
  CHECK(digest_of("abc") == 0x78AF5F94892F3950U);
  CHECK(digest_of("abc", 1) != digest_of("abc"));
}

TEST_CASE("an empty digest is the digest of nothing") {
  CHECK(Digest().value() == digest_of(""));
}

TEST_CASE("digests of integers and text are stable") {
  Digest digest;
  digest.add(std::int64_t{1});
  digest.add(std::int64_t{-1});
  CHECK(digest.value() == 8691522550617757783U);
  digest.add("eplb");
  CHECK(digest.value() == 6555708781367649207U);
}

TEST_CASE("an integer is digested as eight bytes, lowest first") {
  Digest digest;
  digest.add(std::int64_t{0x0807060504030201});
  CHECK(digest.value() == digest_of("\x01\x02\x03\x04\x05\x06\x07\x08"));
}

TEST_CASE("a text is digested after its length, so texts cannot run into each other") {
  CHECK(digest_of_texts("ab", "c") != digest_of_texts("a", "bc"));
  CHECK(digest_of_texts("", "abc") != digest_of_texts("abc", ""));
  Digest digest;
  digest.add("abc");
  CHECK(digest.value() == digest_of(std::string_view("\x03\0\0\0\0\0\0\0abc", 11)));
}

TEST_CASE("a run of integers counts as the integers one by one") {
  const std::array<std::int64_t, 3> values{7, -8, std::int64_t{1} << 40};
  Digest together;
  together.add(std::span<const std::int64_t>(values));
  Digest apart;
  for (const std::int64_t value : values) {
    apart.add(value);
  }
  CHECK(together.value() == apart.value());
  together.add(std::span<const std::int64_t>());
  CHECK(together.value() == apart.value());
}

TEST_CASE("the order of what is added counts") {
  Digest first;
  first.add(std::int64_t{1});
  first.add(std::int64_t{2});
  Digest second;
  second.add(std::int64_t{2});
  second.add(std::int64_t{1});
  CHECK(first.value() != second.value());
}

TEST_CASE("a digest may be read at any time and goes on after it was moved") {
  Digest digest;
  digest.add(std::int64_t{1});
  const std::uint64_t early = digest.value();
  CHECK(digest.value() == early);
  Digest moved = std::move(digest);
  CHECK(moved.value() == early);
  moved.add(std::int64_t{2});
  Digest whole;
  whole.add(std::int64_t{1});
  whole.add(std::int64_t{2});
  CHECK(moved.value() == whole.value());
}

TEST_CASE("a long input that fills the digest's buffer many times is the same in any pieces") {
  const std::string text(10'000, 'x');
  Digest digest;
  const std::array<std::int64_t, 1250> values = [] {
    std::array<std::int64_t, 1250> filled{};
    filled.fill(0x7878787878787878);
    return filled;
  }();
  digest.add(std::span<const std::int64_t>(values).first(7));
  digest.add(std::span<const std::int64_t>(values).subspan(7));
  CHECK(digest.value() == digest_of(text));
}

}  // namespace
}  // namespace eplb
