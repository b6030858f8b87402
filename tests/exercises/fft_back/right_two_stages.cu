// %%kernel fft_back -DPOINTS=64
__device__ float2 turned_back(float2 c, float2 w)   // c times the conjugate of w
{
    return make_float2(c.x * w.x + c.y * w.y, c.y * w.x - c.x * w.y);
}

__device__ void pair(float2& a, float2& c, float2 w)   // one stage of two cells
{
    const float2 b = turned_back(c, w);
    c = make_float2(a.x - b.x, a.y - b.y);
    a = make_float2(a.x + b.x, a.y + b.y);
}

__global__ void fft_back(float2* x, const float2* X, const float2* twiddles)
{
    __shared__ float2 cells[POINTS];
    const int t = threadIdx.x;
    for (int i = t; i < POINTS; i += POINTS / 2) cells[i] = X[blockIdx.x * POINTS + i];
    __syncthreads();
    int span = 1;
    for (; 2 * span < POINTS; span *= 4) {   // spans `span` and 2 * span, by a fourth of the points
        if (t < POINTS / 4) {
            const int place = t & (span - 1), first = 4 * (t - place) + place;
            float2 c0 = cells[first], c1 = cells[first + span];
            float2 c2 = cells[first + 2 * span], c3 = cells[first + 3 * span];
            const float2 near = twiddles[place * (POINTS / 2 / span)];
            pair(c0, c1, near);
            pair(c2, c3, near);
            pair(c0, c2, twiddles[place * (POINTS / 4 / span)]);
            pair(c1, c3, twiddles[(place + span) * (POINTS / 4 / span)]);
            cells[first] = c0;
            cells[first + span] = c1;
            cells[first + 2 * span] = c2;
            cells[first + 3 * span] = c3;
        }
        __syncthreads();
    }
    for (; span < POINTS; span *= 2) {   // what an odd number of stages leaves
        const int place = t & (span - 1), first = 2 * (t - place) + place;
        pair(cells[first], cells[first + span], twiddles[place * (POINTS / 2 / span)]);
        __syncthreads();
    }
    for (int i = t; i < POINTS; i += POINTS / 2) x[blockIdx.x * POINTS + i] = cells[i];
}
