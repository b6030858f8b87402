// schedule.h -- from the launch to the blocks, from the blocks to the warps
#pragma once
#include <string>
#include <vector>

#include "machine.h"

// The names of the scheduler's, the memory's and the warp operations; operations() has the others.
std::vector<std::string> machine_names();
// Decides how an instruction runs. `name`: its operation's name; `run`: the function of an
// arithmetic operation, else null.
Decoded decode(const std::string& name, Operation run);

void prepare_warps(Worker& w);
void run_block(Worker& w, std::uint64_t number);
