// flag_that_nobody_sets.cu -- WRONG ON PURPOSE: a thread waits for a flag that no thread sets
//
// fault: runaway
// launch: grid=1 block=1
// arguments: inout int y 1 zeros; inout int flag 1 zeros

extern "C" __global__ void flag_that_nobody_sets(int* y, int* flag)
{
    while (*static_cast<volatile const int*>(flag) == 0) { // <- here
    } // <- here
    *y = 1;
}
