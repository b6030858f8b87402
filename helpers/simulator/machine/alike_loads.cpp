// alike_loads.cpp -- finds loads whose addresses have the pattern of an earlier load's
//
// An unrolled loop reads a tile by one register and many displacements. The pattern of the
// addresses (shapes.h) is then that of the register, so the first of these loads finds it for all.
#include <algorithm>
#include <vector>

#include "access.h"

namespace {

// Returns for each instruction whether other lanes may run it than the one before it: a branch
// leads to it, or lanes meet there.
std::vector<bool> entries(const Worker& w) {
    const Program& program = w.launch.program;
    std::vector<bool> is_entry(program.instruction_count + 1, false);
    const auto enter = [&](std::int32_t pc) {
        if (pc >= 0) is_entry[static_cast<std::size_t>(pc)] = true;
    };
    for (std::uint32_t k = 0; k < program.function_count; ++k) enter(program.functions[k].first);
    for (std::uint32_t k = 0; k < program.instruction_count; ++k) {
        const Instruction& i = program.instructions[k];
        const Control control = w.decoded[k].control;
        if (control == BRANCH_TO) enter(i.target);
        if (control == BRANCH_BY_INDEX)
            for (std::int64_t n = 0; n < i.immediate; ++n)
                enter(program.operands[i.more + static_cast<std::uint32_t>(n)]);
        if (control == BRANCH_TO || control == BRANCH_BY_INDEX || control == CALL) enter(i.join);
    }
    return is_entry;
}

}    // namespace

void link_alike_loads(Worker& w) {
    const Program& program = w.launch.program;
    const Lanes slots{{nullptr, nullptr}, program.operands};
    const std::vector<bool> is_entry = entries(w);
    std::vector<std::int32_t> firsts;    // loads that later ones may be like
    for (std::uint32_t k = 0; k < program.instruction_count; ++k) {
        const Instruction& i = program.instructions[k];
        Decoded& decoded = w.decoded[k];
        if (is_entry[k]) firsts.clear();
        if (decoded.machine == run_store) continue;
        const bool is_load = decoded.machine == run_load;
        if (!is_load && decoded.run == nullptr) {    // other lanes may run what follows
            firsts.clear();
            continue;
        }
        if (is_load && has_addresses_in_register(i)) {
            const auto first = std::find_if(firsts.begin(), firsts.end(), [&](std::int32_t pc) {
                const Instruction& other = program.instructions[pc];
                return other.operand[0] == i.operand[0] &&
                       other.bytes * other.elements == i.bytes * i.elements;
            });
            if (first != firsts.end()) decoded.like = *first;
            else if (i.guard == 0) firsts.push_back(static_cast<std::int32_t>(k));
        }
        // Perhaps it writes to the registers that it names.
        for (int n = is_load ? 1 : 0; n < i.count; ++n) {
            const std::int32_t slot = slots.operand(i, n);
            firsts.erase(std::remove_if(firsts.begin(), firsts.end(),
                                        [&](std::int32_t pc) {
                                            return program.instructions[pc].operand[0] == slot;
                                        }),
                         firsts.end());
        }
    }
}
