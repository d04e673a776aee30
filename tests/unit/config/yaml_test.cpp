// Goal: whatever the bytes of a file are, they end in a scenario or in diagnostics with a place.
// Method: texts that are no YAML, more than YAML, or YAML that hides what a key's value is.
#include <doctest/doctest.h>

#include <string>

#include "config_text.hpp"

namespace eplb::config::test {
namespace {

std::string repeated(std::string_view text, std::size_t times) {
  std::string whole;
  for (std::size_t count = 0; count < times; ++count) {
    whole += text;
  }
  return whole;
}

TEST_CASE("a text without content is said to be empty") {
  for (const char* text : {"", "\n\n", "# a comment\n", "---\n", "~", "--- # nothing\n...\n"}) {
    CAPTURE(text);
    CHECK(problems(text) == "t.yaml:1:1: error: the file is empty\n");
  }
}

TEST_CASE("a root that is no mapping is refused") {
  const std::string must =
      "must be a mapping of model, hardware, parallel, engine, serving, workload, eplb, faults, "
      "run, search, or of hardware, program, run, got ";
  CHECK(problems("- model") == "t.yaml:1:1: error: " + must + "a list\n");
  CHECK(problems("\n  model") == "t.yaml:2:3: error: " + must + "model\n");
}

TEST_CASE(
    "a syntax error has the place where it is, and an open bracket the place of the bracket") {
  CHECK(problems("model: a: b\n") == "t.yaml:1:9: error: not valid YAML: illegal map value\n");
  CHECK(problems("model: x\nparallel: {ranks: 4\n") ==
        "t.yaml:2:11: error: not valid YAML: end of map flow not found\n");
  CHECK(problems("a:\n  - [1, 2\n") ==
        "t.yaml:2:5: error: not valid YAML: end of sequence flow not found\n");
  CHECK(problems("model: x\n\trun: y\n") ==
        "t.yaml:2:1: error: not valid YAML: illegal tab when looking for indentation\n");
  CHECK(problems("%YAML 9.9\n---\na: 1\n") ==
        "t.yaml:1:1: error: not valid YAML: YAML major version too large\n");
  CHECK(problems("model: \"\\q\"") ==
        "t.yaml:1:11: error: not valid YAML: unknown escape character: q\n");
}

TEST_CASE("what hides a value is refused: anchors, aliases, tags, merge keys, further documents") {
  CHECK(problems(legal_with("eplb: {window_size: &w 9, step_interval: *w}\n")) ==
        "t.yaml:5:21: error: eplb.window_size: anchors are not supported\n"
        "t.yaml:5:42: error: eplb.step_interval: aliases are not supported, write the value out\n");
  CHECK(problems(legal_with("run: {steps: !!int 9, seed: !x 3}\n")) ==
        "t.yaml:5:14: error: run.steps: tags are not supported, got tag:yaml.org,2002:int\n"
        "t.yaml:5:29: error: run.seed: tags are not supported, got !x\n");
  CHECK(problems(legal_with("run: {<<: {steps: 9}}\n")) ==
        "t.yaml:5:7: error: run: merge keys are not supported\n");
  CHECK(problems(legal_with("---\nrun: {steps: 9}\n---\nx: 1\n")) ==
        "t.yaml:5:1: error: a second document begins, only one is allowed\n");
}

TEST_CASE("keys must be words, of at most 128 bytes, and stand once") {
  CHECK(problems(legal_with("? [run]\n: {steps: 9}\n")) ==
        "t.yaml:5:3: error: a key must be a word, got a list\n");
  CHECK(problems(legal_with("run: {~: 9}\n")) ==
        "t.yaml:5:7: error: run: a key must be a word, got nothing\n");
  CHECK(problems(legal_with("run: {" + repeated("k", 129) + ": 9}\n")) ==
        "t.yaml:5:7: error: run: a key has at most 128 bytes\n");
  CHECK(problems(legal_with("run:\n  seed: 1\n  steps: 9\n  seed: 1\nrun: {}\n")) ==
        "t.yaml:8:3: error: run.seed: duplicate key, first given in line 6\n"
        "t.yaml:9:1: error: run: duplicate key, first given in line 5\n");
}

TEST_CASE("bytes that are no text are refused at their place") {
  const auto refused = [](std::string_view bytes) { return problems(legal_with(bytes)); };
  const std::string at = "t.yaml:5:3: error: ";
  CHECK(refused(std::string("# \0", 3)) == at + "control character 0 in the text\n");
  CHECK(refused("# \x04") == at + "control character 4 in the text\n");
  CHECK(refused("# \x7F") == at + "control character 127 in the text\n");
  CHECK(refused("# \xC2\x9B") == at + "control character 155 in the text\n");
  const std::string no_utf8 = at + "the text is not UTF-8\n";
  for (const char* bytes : {"# \x80", "# \xC3", "# \xC0\xAF", "# \xE0\x80\xAF", "# \xED\xA0\x80",
                            "# \xF4\x90\x80\x80", "# \xF8\x88\x80\x80\x80", "# \xFF\xFE"}) {
    CHECK(refused(bytes) == no_utf8);
  }
}

TEST_CASE("other text than ASCII, a byte order mark and Windows line ends are fine") {
  CHECK(problems("\xEF\xBB\xBF" + legal_with("# \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x8E\x89\r\n")) ==
        "");
  std::string windows;
  for (const char byte : legal_with("run: {steps: 0}\n")) {
    windows += byte == '\n' ? "\r\n" : std::string(1, byte);
  }
  CHECK(problems(windows) ==
        "t.yaml:5:14: error: run.steps: must be at least 1 and at most 10000000, got 0\n");
}

TEST_CASE("nesting of any depth is refused, not followed") {
  const std::string deeper = "error: nested deeper than 32 levels\n";
  for (const std::size_t depth : {40U, 300U, 100000U}) {
    CAPTURE(depth);
    CHECK(problems("a: " + repeated("{a: ", depth)) == "t.yaml:1:128: " + deeper);
    CHECK(problems("a:\n  " + repeated("- ", depth)) == "t.yaml:2:65: " + deeper);
    CHECK(problems(repeated("? ", depth)) == "t.yaml:1:65: " + deeper);
    CHECK(problems("a: " + repeated("[", depth)).ends_with(deeper));
  }
  const std::string deepest = "run: " + repeated("[", 31) + repeated("]", 31) + "\n";
  CHECK(problems(legal_with(deepest)) ==
        "t.yaml:5:6: error: run: must be a mapping of steps, warmup_steps, seed, compare_off, got "
        "a list\n");
  CHECK(problems(legal_with("run: " + repeated("[", 32) + repeated("]", 32))) ==
        "t.yaml:5:37: " + deeper);
}

TEST_CASE("a text of more than 4 MiB, or of more than 20000 values, is refused") {
  CHECK(problems(std::string(kConfigBytesMax + 1, '#')) ==
        "t.yaml:1:1: error: the text has more than 4194304 bytes\n");
  CHECK(problems(std::string(kConfigBytesMax, '#')) == "t.yaml:1:1: error: the file is empty\n");
  // The key a is the first value, so the 20000th item is one too many.
  CHECK(problems("a: [" + repeated("1,", 20000) + "]") ==
        "t.yaml:1:40003: error: more than 20000 keys and values\n");
  CHECK(problems("a: [" + repeated("1,", 19997) + "]").find("more than") == std::string::npos);
}

TEST_CASE(
    "a diagnostic shows no more than the start of a long value, and nothing that a terminal "
    "obeys") {
  CHECK(problems(legal_with("run: {steps: " + std::string(1000000, '9') + "}\n")) ==
        "t.yaml:5:14: error: run.steps: must be at least 1 and at most 10000000, got " +
            std::string(60, '9') + "...\n");
  CHECK(problems(legal_with("run: {steps: \"\\e[31m\\x9b\"}\n")) ==
        "t.yaml:5:14: error: run.steps: must be a whole number in decimal digits, got the text "
        "\"\\x1b[31m\\x9b\"\n");
}

}  // namespace
}  // namespace eplb::config::test
