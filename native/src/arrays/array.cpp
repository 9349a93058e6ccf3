#include "warp_core/array.h"

#include "warp_core/dtypes.h"

namespace wc {

void finish(Array& array) {
    wc_array& v = array.view;
    int64_t itemsize = dtype(array.dtype).itemsize;
    for (int i = array.ndim; i < kMaxNdim; ++i) {
        v.shape[i] = 1;
        v.strides[i] = 0;
    }
    array.size = 1;
    array.contiguous = true;
    for (int i = array.ndim - 1; i >= 0; --i) {
        if (v.shape[i] > 1 && v.strides[i] != array.size * itemsize) array.contiguous = false;
        array.size *= v.shape[i];
    }
    if (array.size == 0) array.contiguous = true;
    int inner = array.ndim - 1;
    array.inner_contiguous = inner < 0 || v.shape[inner] <= 1 || v.strides[inner] == itemsize;
}

}  // namespace wc
