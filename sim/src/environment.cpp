#include "eplb/sim/environment.hpp"

namespace eplb::sim {

void DigestSink::record(const env::TraceRecord& record) {
  digest_.add(record.time_ns);
  digest_.add(record.rank.value);
  digest_.add(static_cast<std::int64_t>(record.event));
  digest_.add(record.subject);
  digest_.add(record.value);
}

}  // namespace eplb::sim
