// barriers.h -- observer: do all live threads of a block wait at the same barrier?
#pragma once
#include "findings.h"

struct BarrierState {
    int waiting = 0, exited = 0;
    const Place* first = nullptr;      // a thread that waits
    const Place* other = nullptr;      // a thread that waits elsewhere
    const Place* elsewhere = nullptr;  // a thread at a copy of the same barrier: inlined or called from another place
    Place gone;                        // a thread that has exited

    void saw_waiting(const Place& place) {
        ++waiting;
        if (first == nullptr) first = &place;
        else if (other == nullptr && place.line != first->line) other = &place;
        else if (elsewhere == nullptr && (place.pc != first->pc || place.caller != first->caller)) elsewhere = &place;
    }
    void saw_exited(const Place& place) {
        if (exited++ == 0) gone = place;
    }
    bool diverged() const { return other != nullptr; }
    bool left_some_behind() const { return waiting > 0 && exited > 0; }    // allowed since Volta, and seldom meant
};
