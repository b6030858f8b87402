// paths.h -- what the files of the scheduler share: paths of warps, meetings, barriers, blocks
#pragma once
#include "machine.h"

// Runs a warp until all of its paths wait or have ended, or until it has had its turn. True when a
// path can go on.
bool run_warp(Worker& w, Warp& warp);

// The lanes of a path come to a warp operation. True: it is done; false: they wait, or the launch
// is over.
bool meet(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes,
          const WarpOperation& operation);
// Lets go on whose lanes are all there; true when somebody can.
bool settle_meetings(Worker& w, Warp& warp);
// Nobody can ever go on: says who waits for whom.
void tell_of_deadlock(Worker& w, const Warp& warp);
// Where a path waits.
Place waiting_place(const Worker& w, const Warp& warp, const Path& path);

// True when somebody may go on past a barrier, false when all threads have finished or the launch
// is over.
bool pass_barrier(Worker& w);
