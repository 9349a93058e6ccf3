// Loads a relocatable ELF object for x86-64 or AArch64, as LLVM writes it, into executable memory. The bytes may come
// from a damaged file: every offset is checked, and anything unexpected throws LoadError.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

namespace wc {

struct LoadError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The address of a function that generated code may call (libm, compiler helpers, wc_fail, wc_printf); 0 if unknown.
uintptr_t find_runtime_symbol(std::string_view name);

// Owns the mapping of one object. Code is executable and read-only, data is writable and never executable.
class Code {
  public:
    explicit Code(std::span<const std::byte> object);
    ~Code();
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;

    uintptr_t address(const std::string& symbol) const;  // of a defined global symbol; throws LoadError
    const std::unordered_map<std::string, uintptr_t>& symbols() const { return symbols_; }
    size_t size() const { return size_; }

  private:
    friend class Loader;
    std::byte* base_ = nullptr;
    size_t size_ = 0, text_size_ = 0;
    std::unordered_map<std::string, uintptr_t> symbols_;
};

}  // namespace wc
