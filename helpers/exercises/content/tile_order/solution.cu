// %%kernel tile_order -DBAND=4
// Stores when each tile of Y is computed. Y has `high` rows and `wide` columns of tiles. A tile has
// one row and 32 columns of outputs here, one output for each thread of a block.
__global__ void tile_order(int* Y, int high, int wide)
{
    int turn = 0;   // how many tiles this block has finished
    //> 1. Let the block stay. Its first tile is blockIdx.x, its next one is gridDim.x further on.
    //= for (int tile = blockIdx.x; tile < high * wide; tile = high * wide) {   // one tile only
    for (int tile = blockIdx.x; tile < high * wide; tile += gridDim.x) {
    //<
        //> 2. Find the place of a tile: in bands of BAND rows, column by column within a band. The
        //> last band may have fewer rows.
        //= const int row = tile / wide;   // row by row
        //= const int column = tile % wide;
        const int first = tile / (BAND * wide) * BAND;   // row: the first of the band
        const int rows = min(BAND, high - first);        // of this band
        const int within = tile - first * wide;          // number of the tile in the band
        const int row = first + within % rows;
        const int column = within / rows;
        //<
        Y[(row * wide + column) * 32 + threadIdx.x] = turn * gridDim.x + blockIdx.x;
        ++turn;
    }
}
