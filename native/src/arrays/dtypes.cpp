#include "warp_core/dtypes.h"

#include <charconv>
#include <deque>
#include <stdexcept>
#include <unordered_map>

namespace wc {
namespace {

struct ScalarRow {
    std::string_view key, display, suffix;
    Scalar scalar;
};

constexpr ScalarRow kScalars[] = {
    {"bool", "bool", "?", {Kind::Bool, 1}},        {"i8", "int8", "b", {Kind::Int, 1}},
    {"i16", "int16", "s", {Kind::Int, 2}},         {"i32", "int32", "i", {Kind::Int, 4}},
    {"i64", "int64", "l", {Kind::Int, 8}},         {"u8", "uint8", "ub", {Kind::Uint, 1}},
    {"u16", "uint16", "us", {Kind::Uint, 2}},      {"u32", "uint32", "ui", {Kind::Uint, 4}},
    {"u64", "uint64", "ul", {Kind::Uint, 8}},      {"f16", "float16", "h", {Kind::Float, 2}},
    {"f32", "float32", "f", {Kind::Float, 4}},     {"f64", "float64", "d", {Kind::Float, 8}},
    {"bf16", "bfloat16", "bf", {Kind::Bfloat, 2}},
};

const ScalarRow* find_scalar(std::string_view key) {
    for (const ScalarRow& row : kScalars)
        if (row.key == key) return &row;
    return nullptr;
}

bool parse_count(std::string_view text, int64_t& out) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() && out > 0;
}

// Fills rank and shape from the word before "<"; false if it names no packed type.
bool parse_packed(std::string_view word, Dtype& d) {
    if (word == "quat" || word == "transform") {
        d.rank = 1;
        d.shape[0] = word == "quat" ? 4 : 7;
        return true;
    }
    if (word.starts_with("vec")) {
        d.rank = 1;
        return parse_count(word.substr(3), d.shape[0]);
    }
    size_t x = word.find('x');
    if (!word.starts_with("mat") || x == word.npos) return false;
    d.rank = 2;
    return parse_count(word.substr(3, x - 3), d.shape[0]) && parse_count(word.substr(x + 1), d.shape[1]);
}

std::string packed_display(std::string_view word, const Dtype& d, const ScalarRow& row) {
    if (d.rank == 2) return "mat" + std::to_string(d.shape[0]) + std::to_string(d.shape[1]) + std::string(row.suffix);
    return std::string(word) + std::string(row.suffix);
}

std::string struct_name(std::string_view key) {
    if (!key.starts_with("struct ")) return std::string(key);
    return std::string(key.substr(7, key.find('{') - 7));
}

struct Table {
    std::deque<Dtype> rows;  // a deque: references stay valid
    std::unordered_map<std::string, int> ids;
};

Table& table() {
    static Table* t = new Table;  // never destroyed: arrays may outlive static destruction
    return *t;
}

}  // namespace

Dtype parse_dtype(std::string_view key, int64_t itemsize) {
    Dtype d;
    d.key = key;
    d.itemsize = itemsize;
    if (const ScalarRow* row = find_scalar(key)) {
        d.scalar = row->scalar;
        d.display = row->display;
        return d;
    }
    size_t open = key.find('<');
    if (open != key.npos && key.ends_with('>')) {
        const ScalarRow* row = find_scalar(key.substr(open + 1, key.size() - open - 2));
        Dtype packed = d;
        if (row && parse_packed(key.substr(0, open), packed)) {
            packed.scalar = row->scalar;
            packed.display = packed_display(key.substr(0, open), packed, *row);
            return packed;
        }
    }
    d.display = struct_name(key);
    return d;
}

std::string_view scalar_key(Scalar s) {
    for (const ScalarRow& row : kScalars)
        if (row.scalar == s) return row.key;
    throw std::invalid_argument("no such scalar type");
}

int type_id(std::string_view key, int64_t itemsize) {
    Table& t = table();
    auto found = t.ids.find(std::string(key));
    if (found != t.ids.end()) {
        if (t.rows[found->second].itemsize != itemsize)
            throw std::invalid_argument("type " + std::string(key) + " is registered with another size");
        return found->second;
    }
    if (itemsize <= 0) throw std::invalid_argument("the size of type " + std::string(key) + " must be positive");
    int id = static_cast<int>(t.rows.size());
    t.rows.push_back(parse_dtype(key, itemsize));
    t.ids.emplace(key, id);
    return id;
}

const Dtype& dtype(int id) { return table().rows.at(static_cast<size_t>(id)); }
int dtype_count() { return static_cast<int>(table().rows.size()); }

}  // namespace wc
