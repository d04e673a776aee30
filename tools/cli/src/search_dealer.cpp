#include "search_dealer.hpp"

#include <fmt/core.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int32_t kDealer = 0;

/// How often a process that has nothing to do looks for messages: MPI has no wait that sleeps.
constexpr std::chrono::milliseconds kLook{1};

/// As long as nobody else can have news.
constexpr std::chrono::milliseconds kRest{1000};

std::string request_text(std::size_t index, const std::string& request) {
  return Json{{"index", index}, {"request", request}}.dump();
}

std::string end_text(int code) {
  return Json{{"end", code}}.dump();
}

std::string reply_text(const WorkerPool::Finished& finished) {
  return Json{{"index", finished.index}, {"reply", finished.reply}}.dump();
}

}  // namespace

void end_search(SearchProcesses& processes, int code) {
  for (std::int32_t process = 1; process < processes.process_count(); ++process) {
    processes.send(process, end_text(code));
  }
}

SearchDealer::SearchDealer(SearchProcesses& processes, std::vector<std::int32_t> thread_counts,
                           std::int32_t own_thread_count, WorkerPool::Work work)
    : processes_(processes),
      free_threads_(std::move(thread_counts)),
      pool_(own_thread_count, std::move(work)) {}

void SearchDealer::hand_out(const std::vector<std::string>& requests, std::size_t& next) {
  for (std::size_t process = 0; process < free_threads_.size(); ++process) {
    for (; free_threads_[process] > 0 && next < requests.size(); ++next) {
      --free_threads_[process];
      if (process == kDealer) {
        pool_.submit(next, requests[next]);
      } else {
        processes_.send(static_cast<std::int32_t>(process), request_text(next, requests[next]));
      }
    }
  }
}

std::vector<WorkerPool::Finished> SearchDealer::collect() {
  const bool is_alone = processes_.process_count() == 1;
  std::vector<WorkerPool::Finished> finished = pool_.take_finished(is_alone ? kRest : kLook);
  free_threads_[kDealer] += static_cast<std::int32_t>(finished.size());
  while (const std::optional<ProcessMessage> message = processes_.receive()) {
    const Json json = Json::parse(message->text);
    finished.push_back({.index = json.at("index").get<std::size_t>(),
                        .reply = json.at("reply").get<std::string>()});
    ++free_threads_[static_cast<std::size_t>(message->process)];
  }
  return finished;
}

Result<void> SearchDealer::deal(const std::vector<std::string>& requests, const Done& done) {
  std::size_t next = 0;
  std::size_t answered = 0;
  while (answered < requests.size()) {
    hand_out(requests, next);
    for (const WorkerPool::Finished& finished : collect()) {
      ++answered;
      if (auto taken = done(finished.index, finished.reply); !taken) {
        return taken;
      }
    }
  }
  return {};
}

int SearchDealer::serve() {
  while (true) {
    while (const std::optional<ProcessMessage> message = processes_.receive()) {
      const Json json = Json::parse(message->text);
      if (const auto end = json.find("end"); end != json.end()) {
        return end->get<int>();
      }
      pool_.submit(json.at("index").get<std::size_t>(), json.at("request").get<std::string>());
    }
    for (const WorkerPool::Finished& finished : pool_.take_finished(kLook)) {
      processes_.send(kDealer, reply_text(finished));
    }
  }
}

}  // namespace eplb::cli
