// Layout of a loaded object: one mapping with the executable sections and call stubs, then constants and the table of
// external addresses, then writable data. Each part starts on a page of its own, so that each has its own protection.
// Relocations are applied while the whole mapping is writable; then each part gets its final rights.
#include "warp_core/loader.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "warp_core/faults.h"
#include "warp_core/interrupts.h"

namespace wc {
namespace {

constexpr uint64_t kMaxSize = 1ull << 30;
constexpr Elf64_Word kUnwindTables = 0x70000001;  // SHT_X86_64_UNWIND
constexpr uint64_t kNoSlot = ~0ull;

[[noreturn]] void bad(const std::string& what) { throw LoadError("cannot load object code: " + what); }

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
constexpr size_t kStubSize = 8;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
constexpr size_t kStubSize = 16;
#else
#error "no loader for this processor"
#endif

uint64_t page_up(uint64_t n) {
    static const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return (n + page - 1) / page * page;
}

enum Part { kText, kConst, kData, kParts };

struct Section {
    Elf64_Shdr header;
    bool placed = false;
    Part part = kText;
    uint64_t offset = 0;  // from the start of the mapping, once laid out
};

struct Symbol {
    std::string_view name;
    uint64_t address = 0;  // 0 for a weak symbol without a definition
    bool external = false;
    bool defined = false;
    bool global = false;
    uint64_t slot = kNoSlot;  // index into the table of external addresses, and of its stub
};

}  // namespace

class Loader {
  public:
    Loader(std::span<const std::byte> object, Code& code) : object_(object), code_(code) {}

    void load() {
        read_header();
        read_sections();
        lay_out();
        map();
        read_symbols();
        relocate();
        protect();
        for (const Symbol& s : symbols_)
            if (s.global && s.defined) code_.symbols_.emplace(s.name, s.address);
    }

  private:
    // The `index`-th T of a table at `offset`, copied out since nothing promises alignment.
    template <class T>
    T read(uint64_t offset, uint64_t index = 0) const {
        T out;
        std::memcpy(&out, bytes(offset, index * sizeof(T), sizeof(T)), sizeof(T));
        return out;
    }

    const std::byte* bytes(uint64_t offset, uint64_t at, uint64_t size) const {
        uint64_t total = object_.size();
        if (offset > total || at > total - offset || size > total - offset - at) bad("it is truncated");
        return object_.data() + offset + at;
    }

    std::string_view text(const Elf64_Shdr& strings, uint64_t at) const {
        if (at >= strings.sh_size) bad("a name lies outside the string table");
        auto* first = reinterpret_cast<const char*>(bytes(strings.sh_offset, at, strings.sh_size - at));
        size_t length = strnlen(first, strings.sh_size - at);
        if (length == strings.sh_size - at) bad("a name has no end");
        if (!std::all_of(first, first + length, [](char c) { return c > ' ' && c <= '~'; })) bad("a name is not ASCII");
        return {first, length};
    }

    void read_header() {
        header_ = read<Elf64_Ehdr>(0);
        if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) bad("it is no ELF file");
        if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB)
            bad("it is not 64-bit little-endian");
        if (header_.e_type != ET_REL) bad("it is not relocatable");
        if (header_.e_machine != kMachine) bad("it is for another processor");
        if (header_.e_shentsize != sizeof(Elf64_Shdr)) bad("unknown size of section headers");
    }

    void read_sections() {
        sections_.resize(header_.e_shnum);
        for (uint64_t i = 0; i < sections_.size(); ++i) {
            Section& s = sections_[i];
            s.header = read<Elf64_Shdr>(header_.e_shoff, i);
            const Elf64_Shdr& h = s.header;
            if (h.sh_type != SHT_NOBITS && h.sh_type != SHT_NULL) bytes(h.sh_offset, 0, h.sh_size);
            if (h.sh_type == SHT_SYMTAB) {
                if (symtab_) bad("it has two symbol tables");
                symtab_ = &s;
            }
            if (!(h.sh_flags & SHF_ALLOC)) continue;
            classify(s);
        }
        if (!symtab_) bad("it has no symbol table");
    }

    static void classify(Section& s) {
        const Elf64_Shdr& h = s.header;
        if (h.sh_flags & SHF_TLS) bad("it has thread-local data");
        if (h.sh_type != SHT_PROGBITS && h.sh_type != SHT_NOBITS && h.sh_type != kUnwindTables)
            bad("it has a section of unknown type");
        if (h.sh_size > kMaxSize) bad("a section is too large");
        if (h.sh_addralign > 4096 || (h.sh_addralign & (h.sh_addralign - 1))) bad("a section has an odd alignment");
        s.part = h.sh_flags & SHF_EXECINSTR ? kText : h.sh_flags & SHF_WRITE ? kData : kConst;
        if (s.part == kText && h.sh_flags & SHF_WRITE) bad("a section is both writable and executable");
        s.placed = true;
    }

    void lay_out() {
        uint64_t externals = symtab_->header.sh_size / sizeof(Elf64_Sym);
        uint64_t at = 0;
        for (int part = 0; part < kParts; ++part) {
            begin_[part] = at = page_up(at);
            for (Section& s : sections_) {
                if (!s.placed || s.part != part) continue;
                uint64_t align = std::max<uint64_t>(1, s.header.sh_addralign);
                s.offset = (at + align - 1) / align * align;
                at = s.offset + s.header.sh_size;
                if (at > kMaxSize) bad("it is too large");
            }
            at = (at + 15) / 16 * 16;
            if (part == kText) {
                stubs_ = at;
                at += externals * kStubSize;
            } else if (part == kConst) {
                slots_ = at;
                at += externals * sizeof(uint64_t);
            }
        }
        begin_[kParts] = page_up(std::max<uint64_t>(at, 1));
    }

    void map() {
        code_.size_ = begin_[kParts];
        code_.text_size_ = begin_[kConst];
        void* memory = MAP_FAILED;
        constexpr int rights = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_32BIT  // code that is not position-independent keeps addresses in 32 bits
        memory = mmap(nullptr, code_.size_, rights, flags | MAP_32BIT, -1, 0);
#endif
        if (memory == MAP_FAILED) memory = mmap(nullptr, code_.size_, rights, flags, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        code_.base_ = static_cast<std::byte*>(memory);
        for (const Section& s : sections_) {
            if (!s.placed || s.header.sh_type == SHT_NOBITS) continue;
            std::memcpy(code_.base_ + s.offset, bytes(s.header.sh_offset, 0, s.header.sh_size), s.header.sh_size);
        }
    }

    void read_symbols() {
        const Elf64_Shdr& h = symtab_->header;
        if (h.sh_entsize != sizeof(Elf64_Sym)) bad("unknown size of symbols");
        if (h.sh_link >= sections_.size() || sections_[h.sh_link].header.sh_type != SHT_STRTAB)
            bad("the symbols have no names");
        const Elf64_Shdr& strings = sections_[h.sh_link].header;
        symbols_.resize(h.sh_size / sizeof(Elf64_Sym));
        for (uint64_t i = 1; i < symbols_.size(); ++i) symbols_[i] = resolve(read<Elf64_Sym>(h.sh_offset, i), strings);
    }

    Symbol resolve(const Elf64_Sym& sym, const Elf64_Shdr& strings) {
        Symbol out;
        out.name = text(strings, sym.st_name);
        int type = ELF64_ST_TYPE(sym.st_info);
        if (type == STT_TLS || type == STT_GNU_IFUNC) bad("symbol " + std::string(out.name) + " has an unknown type");
        out.global = ELF64_ST_BIND(sym.st_info) != STB_LOCAL && !out.name.empty();
        if (sym.st_shndx == SHN_UNDEF) {
            out.external = true;
            out.address = find_runtime_symbol(out.name);
            if (!out.address && ELF64_ST_BIND(sym.st_info) != STB_WEAK && !out.name.empty())
                bad("it needs the unknown function " + std::string(out.name));
        } else if (sym.st_shndx == SHN_COMMON) {
            bad("it has common symbols");
        } else if (sym.st_shndx < SHN_LORESERVE) {
            if (sym.st_shndx >= sections_.size()) bad("a symbol lies in no section");
            const Section& s = sections_[sym.st_shndx];
            if (s.placed) {
                if (sym.st_value > s.header.sh_size)
                    bad("symbol " + std::string(out.name) + " lies outside its section");
                out.address = address_of(s.offset) + sym.st_value;
                out.defined = true;
            }
        }
        return out;
    }

    uint64_t address_of(uint64_t offset) const { return reinterpret_cast<uint64_t>(code_.base_) + offset; }

    void relocate() {
        for (const Section& s : sections_) {
            const Elf64_Shdr& h = s.header;
            if (h.sh_type == SHT_REL) bad("it has relocations without addends");
            if (h.sh_type != SHT_RELA) continue;
            if (h.sh_info >= sections_.size()) bad("relocations belong to no section");
            const Section& target = sections_[h.sh_info];
            if (!target.placed) continue;
            if (h.sh_entsize != sizeof(Elf64_Rela)) bad("unknown size of relocations");
            if (target.header.sh_type == SHT_NOBITS) bad("empty data has relocations");
            for (uint64_t i = 0; i < h.sh_size / sizeof(Elf64_Rela); ++i)
                apply(target, read<Elf64_Rela>(h.sh_offset, i));
        }
    }

    void apply(const Section& section, const Elf64_Rela& r) {
        uint64_t index = ELF64_R_SYM(r.r_info);
        if (index >= symbols_.size()) bad("a relocation names no symbol");
        Symbol& symbol = symbols_[index];
        if (!symbol.defined && !symbol.external && index != 0) bad("a relocation refers to something not loaded");
        apply(section, r, symbol, static_cast<uint32_t>(ELF64_R_TYPE(r.r_info)));
    }

    // The place a relocation changes; `width` bytes of it must lie within its section.
    std::byte* place(const Section& section, uint64_t offset, uint64_t width) const {
        uint64_t size = section.header.sh_size;
        if (offset > size || width > size - offset) bad("a relocation lies outside its section");
        return code_.base_ + section.offset + offset;
    }

    static void put32(std::byte* at, int64_t value, bool is_signed) {
        bool fits = is_signed ? value == static_cast<int32_t>(value)
                              : value == static_cast<int64_t>(static_cast<uint32_t>(value));
        if (!fits) bad("a relocation is out of range");
        auto bits = static_cast<uint32_t>(value);
        std::memcpy(at, &bits, sizeof bits);
    }

    static void put64(std::byte* at, uint64_t value) { std::memcpy(at, &value, sizeof value); }

    // Address of the table entry that holds the symbol's address, made on first need.
    uint64_t slot(Symbol& s) {
        if (s.slot == kNoSlot) {
            s.slot = used_slots_++;
            put64(code_.base_ + slots_ + s.slot * sizeof(uint64_t), s.address);
            make_stub(s.slot);
        }
        return address_of(slots_ + s.slot * sizeof(uint64_t));
    }

    // Address to call: the function itself within the object, a stub near by for one outside.
    uint64_t callee(Symbol& s) {
        if (!s.external) return s.address;
        if (!s.address) bad("it calls the undefined function " + std::string(s.name));
        slot(s);
        return address_of(stubs_ + s.slot * kStubSize);
    }

#if defined(__x86_64__)
    void make_stub(uint64_t index) {
        std::byte* at = code_.base_ + stubs_ + index * kStubSize;
        constexpr uint8_t jump[] = {0xff, 0x25};  // jmp *[rip + displacement]
        std::memcpy(at, jump, sizeof jump);
        uint64_t target = slots_ + index * sizeof(uint64_t), next = stubs_ + index * kStubSize + 6;
        put32(at + 2, static_cast<int64_t>(target - next), true);
    }

    void apply(const Section& section, const Elf64_Rela& r, Symbol& symbol, uint32_t type) {
        auto at = [&](uint64_t width) { return place(section, r.r_offset, width); };
        uint64_t here = address_of(section.offset + r.r_offset);
        auto value = [&](uint64_t address) {
            return static_cast<int64_t>(address + static_cast<uint64_t>(r.r_addend));
        };
        auto relative = [&](uint64_t address) {
            return static_cast<int64_t>(address + static_cast<uint64_t>(r.r_addend) - here);
        };
        switch (type) {
            case R_X86_64_NONE:
                return;
            case R_X86_64_64:
                return put64(at(8), static_cast<uint64_t>(value(symbol.address)));
            case R_X86_64_PC64:
                return put64(at(8), static_cast<uint64_t>(relative(symbol.address)));
            case R_X86_64_32:
                return put32(at(4), value(symbol.address), false);
            case R_X86_64_32S:
                return put32(at(4), value(symbol.address), true);
            case R_X86_64_PC32:
            case R_X86_64_PLT32:
                return put32(at(4), relative(callee(symbol)), true);
            case R_X86_64_GOTPCREL:
            case R_X86_64_GOTPCRELX:
            case R_X86_64_REX_GOTPCRELX:
                return put32(at(4), relative(slot(symbol)), true);
            default:
                bad("it has relocations of unknown type " + std::to_string(type));
        }
    }
#else
    void make_stub(uint64_t index) {
        // ldr x16, +8; br x16; .quad address
        constexpr uint32_t jump[] = {0x58000050, 0xd61f0200};
        std::byte* at = code_.base_ + stubs_ + index * kStubSize;
        std::memcpy(at, jump, sizeof jump);
        std::memcpy(at + 8, code_.base_ + slots_ + index * sizeof(uint64_t), sizeof(uint64_t));
    }

    // Replaces `bits` bits of the instruction at `low` by `value`.
    static void patch(std::byte* at, uint64_t value, int low, int bits) {
        uint32_t mask = ((1u << bits) - 1) << low, instruction;
        std::memcpy(&instruction, at, sizeof instruction);
        instruction = (instruction & ~mask) | (static_cast<uint32_t>(value << low) & mask);
        std::memcpy(at, &instruction, sizeof instruction);
    }

    static void page_address(std::byte* at, uint64_t here, uint64_t target) {
        auto pages = static_cast<int64_t>((target >> 12) - (here >> 12));
        if (pages != pages << 43 >> 43) bad("a relocation is out of range");
        patch(at, static_cast<uint64_t>(pages) & 3, 29, 2);
        patch(at, static_cast<uint64_t>(pages) >> 2, 5, 19);
    }

    void apply(const Section& section, const Elf64_Rela& r, Symbol& symbol, uint32_t type) {
        auto at = [&](uint64_t width) { return place(section, r.r_offset, width); };
        uint64_t here = address_of(section.offset + r.r_offset);
        uint64_t target = symbol.address + static_cast<uint64_t>(r.r_addend);
        switch (type) {
            case R_AARCH64_NONE:
                return;
            case R_AARCH64_ABS64:
                return put64(at(8), target);
            case R_AARCH64_PREL32:
                return put32(at(4), static_cast<int64_t>(target - here), true);
            case R_AARCH64_PREL64:
                return put64(at(8), target - here);
            case R_AARCH64_CALL26:
            case R_AARCH64_JUMP26: {
                auto words = static_cast<int64_t>(callee(symbol) + static_cast<uint64_t>(r.r_addend) - here) >> 2;
                if (words != words << 38 >> 38) bad("a relocation is out of range");
                return patch(at(4), static_cast<uint64_t>(words), 0, 26);
            }
            case R_AARCH64_ADR_PREL_PG_HI21:
                return page_address(at(4), here, target);
            case R_AARCH64_ADR_GOT_PAGE:
                return page_address(at(4), here, slot(symbol));
            case R_AARCH64_LD64_GOT_LO12_NC:
                return patch(at(4), (slot(symbol) & 0xfff) >> 3, 10, 12);
            case R_AARCH64_ADD_ABS_LO12_NC:
            case R_AARCH64_LDST8_ABS_LO12_NC:
                return patch(at(4), target & 0xfff, 10, 12);
            case R_AARCH64_LDST16_ABS_LO12_NC:
                return patch(at(4), (target & 0xfff) >> 1, 10, 12);
            case R_AARCH64_LDST32_ABS_LO12_NC:
                return patch(at(4), (target & 0xfff) >> 2, 10, 12);
            case R_AARCH64_LDST64_ABS_LO12_NC:
                return patch(at(4), (target & 0xfff) >> 3, 10, 12);
            case R_AARCH64_LDST128_ABS_LO12_NC:
                return patch(at(4), (target & 0xfff) >> 4, 10, 12);
            default:
                bad("it has relocations of unknown type " + std::to_string(type));
        }
    }
#endif

    void protect() {
        constexpr std::array<int, kParts> rights = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
        for (int part = 0; part < kParts; ++part) {
            uint64_t size = begin_[part + 1] - begin_[part];
            if (size && mprotect(code_.base_ + begin_[part], size, rights[part]) != 0)
                bad("the operating system refused executable memory");
        }
        auto* base = reinterpret_cast<char*>(code_.base_);
        __builtin___clear_cache(base, base + begin_[kConst]);
    }

    std::span<const std::byte> object_;
    Code& code_;
    Elf64_Ehdr header_{};
    std::vector<Section> sections_;
    std::vector<Symbol> symbols_;
    Section* symtab_ = nullptr;
    uint64_t begin_[kParts + 1] = {};
    uint64_t stubs_ = 0, slots_ = 0, used_slots_ = 0;
};

namespace {
void unmap(std::byte* base, size_t size) {
    if (base) munmap(base, size);
}
}  // namespace

Code::Code(std::span<const std::byte> object) {
    try {
        Loader(object, *this).load();
        watch_faults();
        note_code(reinterpret_cast<uintptr_t>(base_), reinterpret_cast<uintptr_t>(base_) + text_size_);
    } catch (...) {
        unmap(base_, size_);
        throw;
    }
}

Code::~Code() {
    forget_code(reinterpret_cast<uintptr_t>(base_));
    unmap(base_, size_);
}

uintptr_t Code::address(const std::string& symbol) const {
    auto found = symbols_.find(symbol);
    if (found == symbols_.end()) throw LoadError("the object defines no symbol " + symbol);
    return found->second;
}

}  // namespace wc
