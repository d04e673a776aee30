#include "allocation_count.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> allocations{0};

void* counted_allocation(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

namespace eplb::test {

std::int64_t allocation_count() {
  return allocations;
}

}  // namespace eplb::test

// Replaces the program's allocation functions, which the standard allows a program to do: all that
// these deletes may be given memory of, or a sanitizer sees two allocators mixed.
void* operator new(std::size_t size) {
  return counted_allocation(size);
}

void* operator new[](std::size_t size) {
  return counted_allocation(size);
}

void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  ++allocations;
  return std::malloc(size > 0 ? size : 1);
}

void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  ++allocations;
  return std::malloc(size > 0 ? size : 1);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete[](void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
