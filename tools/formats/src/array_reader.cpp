#include "array_reader.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "array_handler.hpp"
#include "json_text.hpp"
#include "text.hpp"

namespace eplb::formats {

Result<std::vector<NumberArray>> read_arrays(std::string_view text, std::string_view source_name,
                                             const ArrayFormat& format) {
  JsonText source{.text = text};
  ArrayHandler handler(source, source_name, format);
  // Not strict: what follows the JSON is looked at by finish(), since the lexer would first keep a
  // stray string whole.
  nlohmann::json::sax_parse(JsonTextIterator(source), JsonTextIterator(source), &handler,
                            nlohmann::json::input_format_t::json, /*strict=*/false);
  return std::move(handler).finish();
}

tl::unexpected<Error> fail_in_file(std::string_view source_name, std::string_view where,
                                   std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, concat({source_name, ": error: ", where, ": ", what}));
}

}  // namespace eplb::formats
