! Prints which rank of MPI_COMM_WORLD each rank of a reordered grid is, by the binding of MPI that BINDING names.
program reorder
#if BINDING == 3
  use mpi_f08
#elif BINDING == 2
  use mpi
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
#if BINDING == 3
  type(MPI_Comm) :: grid
#else
  integer :: grid
#endif
  integer :: rank, now, code, old(4), extents(1)
  logical :: periods(1)
  extents = 4
  periods = .true.
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, extents, periods, .true., grid, code)
  call MPI_Comm_rank(grid, now, code)
  call MPI_Gather(rank, 1, MPI_INTEGER, old, 1, MPI_INTEGER, 0, grid, code)
  if (now == 0) print '(A,4I2)', 'grid', old
  call MPI_Finalize(code)
end program
