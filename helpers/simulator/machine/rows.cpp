// rows.cpp -- compares indices with the extents of arrays, in the careful form of a kernel
//
// The encoder adds these operations before accesses whose array it knows (ptx/axes.py).
#include "machine.h"
#include "poison.h"

namespace {

// The lower half of the immediate is the extent of the axis, the upper one its number in the list
// of the program.
template <class T>
bool check_row(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes) {
    const T* index = warp.at<T>(i.operand[0]);
    const auto extent = static_cast<std::uint32_t>(i.immediate);
    std::uint32_t outside = 0;
    for (int lane = 0; lane < WARP_SIZE; ++lane) {
        const auto value = static_cast<std::uint64_t>(static_cast<std::int64_t>(index[lane]));
        outside |= static_cast<std::uint32_t>(value >= extent) << lane;
    }
    if (LIKELY((outside & lanes) == 0)) return true;
    const int lane = __builtin_ctz(outside & lanes);
    if (blame_unset_address(w, warp, lane, pc)) return false;    // nothing has set the index
    w.fault(warp, lane, pc, ROW_OVERRUN, "", static_cast<std::int64_t>(index[lane]), extent);
    return false;
}

template <class T> void add_check(const char* name) {
    add_operation(name, check_row<T>, READS);
    operations().back().decoded.only_looks = true;
}
const bool registered = [] {
    add_check<std::int64_t>("row.check.s64"), add_check<std::int32_t>("row.check.s32");
    add_check<std::uint32_t>("row.check.u32");
    return true;
}();

}    // namespace
