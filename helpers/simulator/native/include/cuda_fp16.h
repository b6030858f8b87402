// cuda_fp16.h -- what it declares is in halo_fp16.h
#pragma once
#include "halo_fp16.h"
