#include "eplb/gpu/memory/exchange.hpp"

#include <algorithm>

namespace eplb::gpu {
namespace {

constexpr std::byte kStandsWell{0};
constexpr std::byte kStandsBadly{1};

}  // namespace

Result<std::vector<std::vector<std::byte>>> exchange_bytes(
    const PeerGroup& group, const Result<std::vector<std::byte>>& mine) {
  std::vector<std::byte> sent{mine ? kStandsWell : kStandsBadly};
  if (mine) {
    sent.insert(sent.end(), mine->begin(), mine->end());
  } else {
    for (const char letter : mine.error().message) {
      sent.push_back(static_cast<std::byte>(letter));
    }
  }
  std::vector<std::vector<std::byte>> all = group.all_gather(sent);
  if (!mine) {
    return tl::unexpected(mine.error());
  }
  if (all.size() != static_cast<std::size_t>(group.rank_count)) {
    return fail(ErrorCode::kPeerFailed, "of " + std::to_string(group.rank_count) + " ranks " +
                                            std::to_string(all.size()) +
                                            " were heard while memory was set up");
  }
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::vector<std::byte>& bytes = all[rank];
    if (bytes.empty() || bytes.front() != kStandsWell) {
      std::string words;
      std::for_each(bytes.begin() + (bytes.empty() ? 0 : 1), bytes.end(),
                    [&](std::byte letter) { words.push_back(static_cast<char>(letter)); });
      return fail(ErrorCode::kPeerFailed, "rank " + std::to_string(rank) + ": " + words);
    }
    bytes.erase(bytes.begin());
  }
  return all;
}

Result<void> agree(const PeerGroup& group, const Result<void>& mine) {
  const Result<std::vector<std::vector<std::byte>>> all =
      exchange_bytes(group, mine.map([] { return std::vector<std::byte>{}; }));
  if (!all) {
    return tl::unexpected(all.error());
  }
  return {};
}

}  // namespace eplb::gpu
