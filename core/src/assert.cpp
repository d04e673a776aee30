#include "eplb/core/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace eplb {
namespace {

void print_to_stderr(const AssertionFailure& failure) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s (left %lld, right %lld)\n", failure.file,
               failure.line, failure.condition, static_cast<long long>(failure.left),
               static_cast<long long>(failure.right));
}

AssertionHandler current_handler = print_to_stderr;

}  // namespace

AssertionHandler set_assertion_handler(AssertionHandler handler) {
  AssertionHandler before = current_handler;
  current_handler = handler != nullptr ? handler : print_to_stderr;
  return before;
}

void assertion_failed(const AssertionFailure& failure) {
  current_handler(failure);
  std::abort();
}

}  // namespace eplb
