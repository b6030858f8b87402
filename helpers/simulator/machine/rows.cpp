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

}    // namespace

MachineOperation row_operation(const std::string& name) {
    if (name == "row.check.s64") return check_row<std::int64_t>;
    if (name == "row.check.s32") return check_row<std::int32_t>;
    if (name == "row.check.u32") return check_row<std::uint32_t>;
    return nullptr;
}
void name_row_operations(std::vector<std::string>& names) {
    for (const char* type : {"s64", "s32", "u32"})
        names.push_back(std::string("row.check.") + type);
}
