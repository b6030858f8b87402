// paths.h -- shared by the files of the scheduler: paths of warps, meetings, barriers, blocks
#pragma once
#include "machine.h"

// Runs a warp until all of its paths wait or have ended, or until its turn is over. Returns whether
// a path can go on.
bool run_warp(Worker& w, Warp& warp);

// Calls a function, or one of the builtins, for the lanes of a path; the path goes on in the
// function. Lanes that call different functions become paths of their own. Returns STOPS if the
// launch is over.
enum Outcome { GOES_ON, STOPS };
Outcome call(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes);
// Lanes leave a function. When the last one has left, one path goes on in the caller.
void leave_function(Worker& w, Warp& warp, std::uint32_t lanes);

// Lets the next path have a turn of `fuel_of_a_turn` backward branches. Stops a rehearsal that has
// taken too many.
void begin_turn(Worker& w);

// Brings the lanes of a path to a warp operation. Returns true if it is done, false if they wait or
// the launch is over.
bool meet(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes,
          const WarpOperation& operation);
// Releases the paths whose lanes are all there, and returns whether there are any.
bool settle_meetings(Worker& w, Warp& warp);
// Reports a deadlock: which thread waits for which.
void report_deadlock(Worker& w, const Warp& warp);
// Returns the place where a path waits.
Place waiting_place(const Worker& w, const Warp& warp, const Path& path);

// Releases threads at a barrier. Returns true if some may go on, false if all threads have finished
// or the launch is over.
bool pass_barrier(Worker& w);
// Adds to `clocks` everything that these lanes have done so far, and know of others.
void release_clocks(Worker& w, Warp& warp, std::uint32_t lanes, ThreadClocks& clocks);
