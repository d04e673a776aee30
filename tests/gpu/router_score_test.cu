// Goal: the router's arithmetic gives the same bits on the device as on the host, and is as near to
// the functions it stands for as its header says. Method: all BF16 values, a million drawn floats,
// and the corners, each through every function on both sides; on the host against double precision.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/device/router_score.hpp"
#include "eplb/gpu/stream.hpp"
#include "kernel_cases.hpp"

namespace eplb::gpu::test {
namespace {

constexpr std::size_t kDrawnCount = std::size_t{1} << 20U;
constexpr unsigned kBlockSize = 256;

enum class Function : std::uint8_t { kExp, kLog, kSigmoid, kSqrtSoftplus, kKey };

constexpr std::array kFunctions{Function::kExp, Function::kLog, Function::kSigmoid,
                                Function::kSqrtSoftplus, Function::kKey};
constexpr std::array kNames{"exp", "log of one plus", "sigmoid", "sqrt-softplus", "choice key"};

/// The bits of a result; those of one NaN for any.
__host__ __device__ std::uint32_t result_bits(Function function, float value) {
  float result = 0;
  switch (function) {
    case Function::kExp:
      result = device::exp_of(value);
      break;
    case Function::kLog:
      result = device::log_of_one_plus(value);
      break;
    case Function::kSigmoid:
      result = device::sigmoid_of(value);
      break;
    case Function::kSqrtSoftplus:
      result = device::sqrt_softplus_of(value);
      break;
    case Function::kKey:
      return device::choice_key(value);
  }
  return device::is_nan(result) ? 0xFFFFFFFFU : device::bits_of(result);
}

__global__ void evaluate_kernel(Function function, const float* values, std::uint32_t* results,
                                std::uint32_t count) {
  const std::uint32_t index = blockIdx.x * kBlockSize + threadIdx.x;
  if (index < count) {
    results[index] = result_bits(function, values[index]);
  }
}

std::vector<float> drawn_values(Draw& draw) {
  std::vector<float> values{88.7228F, 0x1.62E42EP+6F, 0x1.62E43P+6F, -87.0F, -87.00001F, 0.0F};
  values.reserve(values.size() + 0x10000 + kDrawnCount);
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    values.push_back(device::logit_value(static_cast<std::uint16_t>(bits)));
  }
  for (std::size_t index = 0; index < kDrawnCount; ++index) {
    // By turns any float at all, and one of the range that matters.
    values.push_back(index % 2 == 0 ? device::float_of(static_cast<std::uint32_t>(draw.bits()))
                                    : static_cast<float>(200 * draw.fraction() - 100));
  }
  return values;
}

/// The distance of a float from the truth, in units of its last place.
double ulps_off(float value, double truth) {
  const int exponent = std::max(std::ilogb(truth), -126);
  return std::fabs(value - truth) / std::ldexp(1.0, exponent - 23);
}

void test_accuracy(Checks& checks, const std::vector<float>& values) {
  std::array<double, 4> worst{};
  const auto hold = [&](Function function, float value, double truth) {
    double& held = worst.at(static_cast<std::size_t>(function));
    held = std::max(held, ulps_off(value, truth));
  };
  for (const float value : values) {
    const auto exact = static_cast<double>(value);
    if (value >= -87.0F && value <= 88.0F) {
      hold(Function::kExp, device::exp_of(value), std::exp(exact));
      hold(Function::kSigmoid, device::sigmoid_of(value), 1 / (1 + std::exp(-exact)));
      hold(Function::kSqrtSoftplus, device::sqrt_softplus_of(value),
           std::sqrt(std::log1p(std::exp(exact))));
    }
    if (value > 0.0F && value <= 1.0F) {
      hold(Function::kLog, device::log_of_one_plus(value), std::log1p(exact));
    }
  }
  constexpr std::array<double, 4> kUlpsMax{1, 2, 3, 2};
  for (std::size_t index = 0; index < worst.size(); ++index) {
    checks.expect(worst.at(index) <= kUlpsMax.at(index),
                  std::string(kNames.at(index)) + " is off by " + std::to_string(worst.at(index)) +
                      " units in the last place");
  }
}

/// Keys order as floats do, with NaN before all, and lead back to their floats.
void test_keys(Checks& checks) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::array kAscending{-kInfinity, -3.4e38F, -1.0F, -1e-40F, 0.0F,
                                  1e-40F,     0.5F,     1.0F,  3.4e38F, kInfinity};
  std::uint32_t before = device::choice_key(std::numeric_limits<float>::quiet_NaN());
  checks.expect(before > device::kNoKey, "what is not a number comes before what is not there");
  for (const float value : kAscending) {
    const std::uint32_t key = device::choice_key(value);
    const std::string what = "the key of " + std::to_string(value);
    checks.expect(key > before, what + " is above the one before");
    checks.expect(device::choice_value(key) == value, what + " leads back");
    before = key;
  }
}

}  // namespace

void test_router_score(Checks& checks, const Setting& setting) {
  Draw draw(setting.seed);
  const Stream stream;
  const std::vector<float> values = drawn_values(draw);
  const auto count = static_cast<std::uint32_t>(values.size());
  const DeviceBuffer<float> device_values(values.size());
  const DeviceBuffer<std::uint32_t> results(values.size());
  device_values.upload(values, stream.get());
  for (std::size_t index = 0; index < kFunctions.size(); ++index) {
    const Function function = kFunctions.at(index);
    results.fill_bytes(0xA5, stream.get());
    evaluate_kernel<<<(count + kBlockSize - 1) / kBlockSize, kBlockSize, 0, stream.get()>>>(
        function, device_values.data(), results.data(), count);
    EPLB_CUDA(cudaGetLastError());
    std::vector<std::uint32_t> expected(values.size());
    std::ranges::transform(values, expected.begin(),
                           [&](float value) { return result_bits(function, value); });
    checks.expect_equal<std::uint32_t>(results.download(stream.get()), expected, kNames.at(index));
  }
  test_accuracy(checks, values);
  test_keys(checks);
}

}  // namespace eplb::gpu::test
