// divisions.cpp -- quotients and remainders of whole numbers: a division by zero is a finding
#include "machine.h"

namespace {

std::vector<Operation>& divisions() {
    static std::vector<Operation> all;
    return all;
}

template <class T>
std::uint32_t zeros(const Warp& warp, const Instruction& i, std::uint32_t lanes) {
    const T* divisor = warp.nth<T>(i, 2);
    std::uint32_t found = 0;
    for_lanes(lanes, [&](int lane) { found |= std::uint32_t(divisor[lane] == 0) << lane; });
    return found;
}

bool run_division(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc,
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
    divisions()[w.decoded[pc].detail - 1u](warp, i, lanes);
    return true;
}

}    // namespace

// Decodes "div.s32", "rem.u64" ...; `detail` of the result is not 0. Returns false for any other
// operation.
bool decode_division(const std::string& name, Operation run, Decoded& decoded) {
    const std::string start = name.substr(0, 5);
    if (start != "div.s" && start != "div.u" && start != "rem.s" && start != "rem.u") return false;
    divisions().push_back(run);
    decoded = {};
    decoded.control = MACHINE, decoded.machine = run_division;
    decoded.detail = static_cast<std::uint8_t>(divisions().size());
    return true;
}
