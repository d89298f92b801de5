! A ring in Fortran, by the binding that is chosen: rank r starts a persistent send of 10 + r doubles three times,
! once by MPI_Startall. -DBINDING=1: include 'mpif.h', 2: use mpi, 3: use mpi_f08. Exit status 1: wrong data.
program sends
#if BINDING == 3
    use mpi_f08
    implicit none
    type(MPI_Request) :: requests(2)
#elif BINDING == 2
    use mpi
    implicit none
    integer :: requests(2)
#else
    implicit none
    include 'mpif.h'
    integer :: requests(2)
#endif
    integer :: rank, ranks, code, i
    double precision :: values(100), arrived(100)
    common /seen_by_mpi/ values, arrived  ! which any call may change: MPI_Wait does

    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
    values = rank
    arrived = -1
    call MPI_Recv_init(arrived, 100, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), 0, MPI_COMM_WORLD, &
        requests(1), code)
    call MPI_Send_init(values, 10 + rank, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), 0, MPI_COMM_WORLD, &
        requests(2), code)
    do i = 1, 3
        if (i == 3) then
            call MPI_Startall(2, requests, code)
        else
            call MPI_Start(requests(1), code)
            call MPI_Start(requests(2), code)
        end if
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE, code)
        call MPI_Wait(requests(2), MPI_STATUS_IGNORE, code)
        if (arrived(10) /= modulo(rank - 1, ranks)) call exit(1)
    end do
    call MPI_Request_free(requests(1), code)
    call MPI_Request_free(requests(2), code)
    call MPI_Finalize(code)
end program
