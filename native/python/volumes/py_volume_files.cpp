// Decoders of volume files. Python reads the headers (omni/warp_core/volumes); the checks here keep memory safe whoever
// calls.
#include <nanobind/stl/string.h>

#include <stdexcept>

#include "arrays/py_array.h"
#include "gil.h"
#include "volumes/byte_buffers.h"
#include "warp_core/volumes/vdb_tree.h"

namespace wc {
namespace {

void decode(nb::handle chunk, nb::handle out) {
    ReadBuffer from(chunk);
    WriteBuffer to(out);
    without_gil([&] { blosc_decode(from.bytes(), to.room()); });
}

nb::bytes encode(nb::handle data, size_t item) {
    ReadBuffer from(data);
    std::vector<uint8_t> chunk;
    without_gil([&] { chunk = blosc_encode(from.bytes(), item); });
    return as_bytes(chunk);
}

Scalar scalar_of(const std::string& name) {
    if (name == "bool") return {Kind::Bool, 1};
    if (name == "int32") return {Kind::Int, 4};
    if (name == "int64") return {Kind::Int, 8};
    if (name == "float16") return {Kind::Float, 2};
    if (name == "float32") return {Kind::Float, 4};
    if (name == "float64") return {Kind::Float, 8};
    throw std::invalid_argument("values of type " + name + " cannot be read");
}

// The function of Python that decompresses zlib data needs the GIL, so these files are read with it.
void call_inflate(const nb::object& inflate, Bytes chunk, Room out) {
    nb::object data = inflate(as_bytes(chunk.data(), chunk.size()), out.size());
    ReadBuffer bytes(data);
    if (bytes.bytes().size() != out.size()) throw std::invalid_argument("the zlib data has another size");
    std::copy(bytes.bytes().begin(), bytes.bytes().end(), out.begin());
}

class PyVdbFormat {
  public:
    PyVdbFormat(const std::string& scalar, size_t components, bool half, const std::string& leaves,
                uint32_t compression, nb::object inflate)
        : zlib_(compression & 1) {
        format_.scalar = scalar_of(scalar);
        format_.components = components;
        format_.half = half;
        format_.leaves = leaves == "bits"   ? VdbLeaves::Bits
                         : leaves == "mask" ? VdbLeaves::MaskOnly
                                            : VdbLeaves::Values;
        format_.compression = compression;
        format_.inflate = [inflate](Bytes chunk, Room out) { call_inflate(inflate, chunk, out); };
        bool usual = (components == 1 || components == 3) && (!half || format_.scalar.kind == Kind::Float);
        bool bits = format_.leaves == VdbLeaves::Values || format_.value_size() == 1;
        if (!usual || !bits || (half && format_.scalar.size < 4)) throw std::invalid_argument("no such values");
    }

    nb::tuple topology(nb::handle file, size_t file_begin, size_t begin) const {
        ReadBuffer bytes(file);
        VdbTopology found;
        run([&] { found = read_vdb_topology(format_, {bytes.bytes(), file_begin}, begin); });
        return nb::make_tuple(as_bytes(found.background), as_bytes(found.leaf_origins), as_bytes(found.leaf_masks),
                              as_bytes(found.tile_origins), as_bytes(found.tile_extents), as_bytes(found.tile_values),
                              as_bytes(found.tile_active), found.end);
    }

    size_t leaves(nb::handle file, size_t file_begin, size_t begin, nb::handle background, nb::handle masks,
                  nb::handle values) const {
        ReadBuffer bytes(file), one(background), all_masks(masks);
        WriteBuffer out(values);
        size_t count = all_masks.bytes().size() / kLeafMask;
        bool fits = all_masks.bytes().size() % kLeafMask == 0 && one.bytes().size() == format_.value_size() &&
                    out.room().size() / (kLeafVoxels * format_.value_size()) == count;
        if (!fits) throw std::invalid_argument("the arrays do not fit each other");
        size_t end = 0;
        run([&] {
            end = read_vdb_leaves(format_, {bytes.bytes(), file_begin}, begin, one.bytes(), all_masks.bytes(),
                                  out.room());
        });
        return end;
    }

  private:
    template <class F>
    void run(F&& read) const {
        if (zlib_) return read();
        without_gil(read);
    }

    VdbFormat format_;
    bool zlib_;
};

}  // namespace

void bind_volume_files(nb::module_& m) {
    m.def(
        "blosc_decoded_size", [](nb::handle chunk) { return blosc_decoded_size(ReadBuffer(chunk).bytes()); },
        nb::arg("chunk"));
    m.def("blosc_decode", &decode, nb::arg("chunk"), nb::arg("out"));
    m.def("blosc_encode", &encode, nb::arg("data"), nb::arg("item_size"));
    nb::class_<PyVdbFormat>(m, "VdbFormat")
        .def(nb::init<const std::string&, size_t, bool, const std::string&, uint32_t, nb::object>(), nb::arg("scalar"),
             nb::arg("components"), nb::arg("half"), nb::arg("leaves"), nb::arg("compression"), nb::arg("inflate"))
        .def("topology", &PyVdbFormat::topology, nb::arg("file"), nb::arg("file_begin"), nb::arg("begin"))
        .def("leaves", &PyVdbFormat::leaves, nb::arg("file"), nb::arg("file_begin"), nb::arg("begin"),
             nb::arg("background"), nb::arg("masks"), nb::arg("values"));
}

}  // namespace wc
