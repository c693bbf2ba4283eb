// Every kernel, compiled for the emulation.
#include "backend/cuda/kernels/attention/append.cu"
#include "backend/cuda/kernels/attention/plain.cu"
#include "backend/cuda/kernels/delta_net/delta_net.cu"
#include "backend/cuda/kernels/embed/embed.cu"
#include "backend/cuda/kernels/norm/norm.cu"
#include "backend/cuda/kernels/product/plain.cu"
#include "backend/cuda/testing/tile_probes.cu"
