// schedule.h -- from the launch to the blocks, from the blocks to the warps
#pragma once
#include <string>
#include <vector>

#include "machine.h"

// What the scheduler, the memory and the warp operations are called; operations() has the others.
std::vector<std::string> machine_names();
// How one instruction is run. `name`: of its operation; `run`: of an arithmetic one, else null.
Decoded decode(const std::string& name, Operation run);

void prepare_warps(Worker& w);
void run_block(Worker& w, std::uint64_t number);
