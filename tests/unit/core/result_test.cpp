// Goal: an error says what, why and where; an assertion reports its values once. Method: errors
// made here, and a handler that notes what it is given.
#include "eplb/core/result.hpp"

#include <doctest/doctest.h>

#include <array>
#include <set>
#include <string>
#include <string_view>

#include "eplb/core/assert.hpp"

namespace eplb {
namespace {

constexpr std::array kAllCodes{
    ErrorCode::kInvalidArgument,   ErrorCode::kInvalidConfig, ErrorCode::kUnsupported,
    ErrorCode::kResourceExhausted, ErrorCode::kTimeout,       ErrorCode::kPeerFailed,
    ErrorCode::kAborted,           ErrorCode::kDevice,        ErrorCode::kInternal};

TEST_CASE("every error code has a name of its own") {
  std::set<std::string_view> names;
  for (const ErrorCode code : kAllCodes) {
    names.insert(to_string(code));
  }
  CHECK(names.size() == kAllCodes.size());
  CHECK(names.count("unknown error") == 0);
  CHECK(to_string(ErrorCode::kInvalidArgument) == "invalid argument");
  CHECK(to_string(static_cast<ErrorCode>(200)) == "unknown error");
}

TEST_CASE("a failure carries its code, its message and the line that made it") {
  const int line = __LINE__ + 1;
  const Result<int> failed = fail(ErrorCode::kTimeout, "no status of rank 3");
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().code == ErrorCode::kTimeout);
  CHECK(failed.error().message == "no status of rank 3");
  CHECK(failed.error().site.line == line);
  CHECK(std::string_view(failed.error().site.file).ends_with("result_test.cpp"));
}

/// A handler may leave by throwing; so a test sees the failure without ending the program.
void throw_failure(const AssertionFailure& failure) {
  throw failure;
}

class HandlerScope {
 public:
  HandlerScope() : before_(set_assertion_handler(throw_failure)) {}

  ~HandlerScope() { set_assertion_handler(before_); }

  HandlerScope(const HandlerScope&) = delete;
  HandlerScope& operator=(const HandlerScope&) = delete;
  HandlerScope(HandlerScope&&) = delete;
  HandlerScope& operator=(HandlerScope&&) = delete;

 private:
  AssertionHandler before_;
};

TEST_CASE("an assertion that holds does nothing, and evaluates its values once") {
  int evaluations = 0;
  EPLB_ASSERT(++evaluations == 1);
  EPLB_ASSERT_OP(++evaluations, ==, 2);
  CHECK(evaluations == 2);
}

TEST_CASE("an assertion that fails reports its condition, values and place") {
  const HandlerScope scope;
  try {
    EPLB_ASSERT_OP(3 + 4, <, -5);
    FAIL("the assertion did not fail");
  } catch (const AssertionFailure& failure) {
    CHECK(std::string_view(failure.condition) == "3 + 4 < -5");
    CHECK(failure.left == 7);
    CHECK(failure.right == -5);
    CHECK(std::string_view(failure.file).ends_with("result_test.cpp"));
  }
  CHECK_THROWS_AS(EPLB_ASSERT(1 == 2), AssertionFailure);
}

TEST_CASE("setting an assertion handler returns the one before, and none restores the default") {
  AssertionHandler initial = set_assertion_handler(throw_failure);
  CHECK((initial != throw_failure));
  CHECK((set_assertion_handler(nullptr) == throw_failure));
  CHECK((set_assertion_handler(initial) == initial));
}

}  // namespace
}  // namespace eplb
