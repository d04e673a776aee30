#include "eplb/cli/command_line.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <ostream>

#include "eplb/cli/nearest_name.hpp"

namespace eplb::cli {
namespace {

namespace po = boost::program_options;

po::options_description described(const std::vector<OptionSpec>& options) {
  constexpr unsigned kLineWidth = 100;
  po::options_description description("options", kLineWidth);
  for (const OptionSpec& option : options) {
    if (option.value_name.empty()) {
      description.add_options()(option.name.c_str(), option.help.c_str());
    } else {
      description.add_options()(option.name.c_str(),
                                po::value<std::string>()->value_name(option.value_name),
                                option.help.c_str());
    }
  }
  return description;
}

void print_help(const CommandSyntax& syntax, const Streams& streams) {
  streams.out << fmt::format("usage: eplb {} {}\n\n{}\n\n", syntax.name, syntax.usage, syntax.about)
              << described(syntax.options) << fmt::format("\nexample:\n{}\n", syntax.example);
}

std::string unknown_option(std::string_view token, const std::vector<OptionSpec>& options) {
  const std::string_view given = token.substr(0, token.find('='));
  std::vector<std::string> names;
  names.reserve(options.size());
  for (const OptionSpec& option : options) {
    names.push_back(fmt::format("--{}", option.name));
  }
  return fmt::format("unknown option '{}'{}", given, did_you_mean(given, names));
}

/// Puts one parsed option or positional argument where it belongs.
void take(const CommandSyntax& syntax, const po::option& option, std::size_t& positional_count,
          OptionValues& values) {
  if (option.position_key >= 0) {
    if (positional_count < syntax.positionals.size()) {
      values.add(syntax.positionals[positional_count++], option.value.front());
    } else {
      values.note_problem(fmt::format("unexpected argument '{}'", option.value.front()));
    }
    return;
  }
  const auto spec = std::ranges::find(syntax.options, option.string_key, &OptionSpec::name);
  if (values.has(option.string_key) && !spec->repeatable) {
    values.note_problem(fmt::format("--{}: is given more than once", option.string_key));
    return;
  }
  // The parser takes whatever follows an option for its value.
  const bool is_separate = option.original_tokens.size() > 1;
  if (is_separate && option.original_tokens.back().starts_with("--")) {
    values.note_problem(fmt::format("--{}: needs a value before '{}'", option.string_key,
                                    option.original_tokens.back()));
    return;
  }
  values.add(option.string_key, option.value.empty() ? "" : option.value.front());
}

}  // namespace

OptionSpec json_option() {
  return {.name = "json",
          .value_name = "FILE",
          .help =
              "write the result as JSON; '-' is the standard output, which then has nothing "
              "else"};
}

tl::expected<OptionValues, ExitCode> parse_command_line(const CommandSyntax& syntax,
                                                        std::span<const std::string> arguments,
                                                        const Streams& streams) {
  if (std::ranges::any_of(arguments, [](const std::string& argument) {
        return argument == "--help" || argument == "-h";
      })) {
    print_help(syntax, streams);
    return tl::unexpected(ExitCode::kDone);
  }
  OptionValues values(syntax.name);
  try {
    const auto description = described(syntax.options);
    // An abbreviation that works today is ambiguous with tomorrow's option, so there are none.
    const int style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    const po::parsed_options parsed =
        po::command_line_parser(std::vector<std::string>(arguments.begin(), arguments.end()))
            .options(description)
            .style(style)
            .run();
    std::size_t positional_count = 0;
    for (const po::option& option : parsed.options) {
      take(syntax, option, positional_count, values);
    }
  } catch (const po::unknown_option& error) {
    values.note_problem(unknown_option(error.get_option_name(), syntax.options));
  } catch (const po::error& error) {
    values.note_problem(error.what());
  }
  if (values.report_problems(streams)) {
    return tl::unexpected(ExitCode::kUsage);
  }
  return values;
}

void print_error(const Streams& streams, std::string_view command, std::string_view message) {
  streams.err << fmt::format("eplb{}{}: error: {}\n", command.empty() ? "" : " ", command, message);
}

void print_warning(const Streams& streams, std::string_view command, std::string_view message) {
  streams.err << fmt::format("eplb {}: warning: {}\n", command, message);
}

}  // namespace eplb::cli
