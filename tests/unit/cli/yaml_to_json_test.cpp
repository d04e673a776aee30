// Goal: scalars keep the type that a reader of the YAML would give them. Method: one of each kind.
#include "yaml_to_json.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace eplb::cli {
namespace {

TEST_CASE("plain scalars become numbers, booleans and null, and all others text") {
  const auto json = yaml_to_json(
      "whole: 12\nreal: 0.5\nflag: true\nnothing: null\nword: yes\nquoted: \"12\"\nlist: [1, b]\n");
  CHECK(json.dump() ==
        R"({"whole":12,"real":0.5,"flag":true,"nothing":null,"word":"yes","quoted":"12",)"
        R"("list":[1,"b"]})");
}

TEST_CASE("a number with a leading zero or a text that opens like JSON stays text") {
  CHECK(yaml_to_json("a: 010\nb: '{}'\n").dump() == R"({"a":"010","b":"{}"})");
}

}  // namespace
}  // namespace eplb::cli
