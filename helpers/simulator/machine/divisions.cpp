// divisions.cpp -- divisors of whole numbers that are zero: a finding
#include "machine.h"

namespace {

template <class T>
std::uint32_t zeros(const Warp& warp, const Instruction& i, std::uint32_t lanes) {
    const T* divisor = warp.nth<T>(i, 2);
    std::uint32_t found = 0;
    for_lanes(lanes, [&](int lane) { found |= std::uint32_t(divisor[lane] == 0) << lane; });
    return found;
}

}    // namespace

void report_zero_divisors(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc,
                          std::uint32_t lanes) {
    const bool is_long = i.type == U64 || i.type == S64, is_short = i.type == U16 || i.type == S16;
    const std::uint32_t found = is_long    ? zeros<std::uint64_t>(warp, i, lanes)
                                : is_short ? zeros<std::uint16_t>(warp, i, lanes)
                                           : zeros<std::uint32_t>(warp, i, lanes);
    for_lanes(found, [&](int lane) {
        Finding finding;
        finding.kind = DIVISION;
        finding.here = w.place(warp, lane, pc, LOAD);
        w.findings.add(finding);
    });
}
