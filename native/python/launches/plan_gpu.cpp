// Launches on GPUs.
#include <cstring>

#include "arrays/alias_guard.h"
#include "gil.h"
#include "launches/plan.h"
#include "launches/timeline.h"
#include "tape/py_spans.h"

namespace wc {
namespace {

AdaptiveGilRelease launching;

}  // namespace

void Plan::set_gpu_entry(int variant, const cuda::Entry& entry, nb::object owner, nb::object checked) {
    if (device_id == 0 || variant < 0 || (variant & ~(kStrided | kPromised)) != 0)
        throw nb::value_error("no such variant on a GPU");
    gpu_entries_[variant] = entry;
    owners[variant] = std::move(owner);
    on_checked = std::move(checked);
}

int Plan::gpu_variant(const std::byte* block, bool strided) const {
    int plain = strided ? kStrided : kInner;
    if (!promised) return plain;
    AliasGuard promises;
    each_array(block, [&](const ParamSpec&, const std::byte* at, int ndim, int64_t itemsize, bool writable) {
        wc_array array;
        std::memcpy(&array, at, sizeof array);
        promises.add(array, ndim, itemsize, writable);
    });
    return promises.kept() ? plain | kPromised : plain;
}

std::string Plan::launched_as(const Grid& g) const {
    std::string dims;
    for (int i = 0; i < (arity == 1 ? 1 : g.ndim); ++i) dims += (i ? ", " : "") + std::to_string(g.dims[i]);
    return "kernel `" + name + "`, launched with dim=(" + dims + "): ";
}

void Plan::run_on_gpu(const std::byte* block, const Grid& g, bool strided) {
    try {
        launch_on_gpu(block, g, strided);
    } catch (const cuda::Error& e) {
        throw cuda::Error(e, launched_as(g));
    } catch (const std::length_error& e) {
        raise(PyExc_ValueError, launched_as(g) + e.what());
    }
}

void Plan::launch_on_gpu(const std::byte* block, const Grid& g, bool strided) {
    int chosen = gpu_variant(block, strided);
    const cuda::Entry& entry = gpu_entries_[chosen];
    if (!entry.function) on_missing(chosen);
    if (g.threads == 0) return;
    if (watching()) announce_writes(block);
    cuda::note_launch(device_id, entry.context, name);
    cuda::Stream stream = cuda::stream_of(device_id);
    Timed timed(Activity::kKernel, label, g.threads, entry.context, stream);
    if (is_checked()) {
        nb::bytes arguments(reinterpret_cast<const char*>(block), block_size);
        on_checked(chosen, arguments, nb::make_tuple(g.dims[0], g.dims[1], g.dims[2], g.dims[3]), g.threads);
        return;
    }
    cuda::Launch launch{g.threads, {g.dims[0], g.dims[1], g.dims[2], g.dims[3]}, nullptr, {}, {}};
    launching.run([&] { cuda::launch(entry, block, launch, stream); });
    if (cuda::verify()) without_gil([&] { cuda::finish(entry.context, stream); });
}

void Plan::update_node(cuda::GraphExec exec, cuda::GraphNode node, const std::byte* block, const Grid& g,
                       bool strided) {
    check_counted(block);
    int chosen = gpu_variant(block, strided);
    if (!gpu_entries_[chosen].function) on_missing(chosen);
    if (!node || is_checked() || g.threads == 0)
        raise(PyExc_RuntimeError,
              "kernel `" + name + "`: this launch cannot be updated in its graph, because it " +
                  (g.threads == 0 ? "has no threads now"
                   : is_checked() ? "is checked for failures"
                                  : "had no threads, or is in a condition or a graph within the graph") +
                  ": capture it again");
    cuda::Launch launch{g.threads, {g.dims[0], g.dims[1], g.dims[2], g.dims[3]}, nullptr, {}, {}};
    cuda::update(exec, node, gpu_entries_[chosen], block, launch);
}

}  // namespace wc
