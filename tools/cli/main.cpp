#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "eplb/cli/run.hpp"

int main(int argument_count, char** arguments) {
  const int name_count = argument_count > 0 ? 1 : 0;
  const std::vector<std::string> words(arguments + name_count, arguments + argument_count);
  return eplb::cli::run(
      words, {.out = std::cout, .err = std::cerr, .err_is_terminal = ::isatty(STDERR_FILENO) == 1});
}
