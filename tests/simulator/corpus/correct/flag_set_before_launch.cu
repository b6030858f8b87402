// flag_set_before_launch.cu -- a thread waits for a flag that the host has set
//
// twin: flag_that_nobody_sets
// launch: grid=1 block=1
// arguments: out int y 1; in int flag 1 ones
// result: y = [1]

extern "C" __global__ void flag_set_before_launch(int* y, const int* flag)
{
    while (*static_cast<volatile const int*>(flag) == 0) {
    }
    *y = 1;
}
