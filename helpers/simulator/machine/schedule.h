// schedule.h -- from the launch to the blocks, from the blocks to the warps
#pragma once
#include "machine.h"

void prepare_warps(Worker& w);
void run_block(Worker& w, std::uint64_t number);
