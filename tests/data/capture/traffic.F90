! Rank r sends 10 + r doubles to r + 1, and all reduce one, by the binding of MPI that BINDING names.
program traffic
#if BINDING == 3
  use mpi_f08
#elif BINDING == 2
  use mpi
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
  integer :: rank, ranks, code
  double precision :: out(100), in(100), total
  out = 1d0
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  call MPI_Sendrecv(out, 10 + rank, MPI_DOUBLE_PRECISION, mod(rank + 1, ranks), 0, in, 100, MPI_DOUBLE_PRECISION, &
                    mod(rank + ranks - 1, ranks), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
  call MPI_Allreduce(out, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, code)
  call MPI_Finalize(code)
end program
