// compaction_by_scan.cu -- values above a bound, packed in order by a scan of the block
//
// launch: grid=1 block=128
// arguments: inout int y 128 zeros; inout int kept 1 zeros; in int x 128 below=10
// result: kept = [np.count_nonzero(x > 4)]
// result: y = np.append(x[x > 4], np.zeros(np.count_nonzero(x <= 4)))

extern "C" __global__ void compaction_by_scan(int* y, int* kept, const int* x)
{
    __shared__ int places[2][128];
    const int t = threadIdx.x, keep = x[t] > 4;
    int from = 0;
    places[0][t] = keep;
    __syncthreads();
    for (int step = 1; step < 128; step *= 2) {
        places[1 - from][t] = places[from][t] + (t >= step ? places[from][t - step] : 0);
        from = 1 - from;
        __syncthreads();
    }
    if (keep) {
        y[places[from][t] - 1] = x[t];
    }
    if (t == 127) {
        *kept = places[from][t];
    }
}
