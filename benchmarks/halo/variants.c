/* The ways to exchange the faces; see variants.h. */
#include "halo/variants.h"

#include "lib/run/check.h"

/* ---- messages ---- */

static void nothing(struct exchange *exchange) {
    (void)exchange;
}

static void wait_all(int count, MPI_Request *requests, struct halo_times *times) {
    double start_s = MPI_Wtime();
    MPI_CHECK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    times->wait += MPI_Wtime() - start_s;
}

static int wait_any(int count, MPI_Request *requests, struct halo_times *times) {
    int arrived = 0;
    double start_s = MPI_Wtime();
    MPI_CHECK(MPI_Waitany(count, requests, &arrived, MPI_STATUS_IGNORE));
    times->wait += MPI_Wtime() - start_s;
    return arrived;
}

/* ---- manual ---- */

static void pack(const struct memory *memory, struct face *face, struct halo_times *times) {
    double start_s = MPI_Wtime();
    face_pack(memory, &face->shape, face->boundary, face->outgoing);
    times->pack += MPI_Wtime() - start_s;
}

static void unpack(const struct memory *memory, struct face *face, const double *from,
                   struct halo_times *times) {
    double start_s = MPI_Wtime();
    face_unpack(memory, &face->shape, from, face->ghost);
    times->unpack += MPI_Wtime() - start_s;
}

static void unpack_arrivals(struct exchange *exchange, MPI_Request *receives, struct halo_times *times) {
    for (int arrived = 0; arrived < exchange->faces->count; arrived++) {
        struct face *face = &exchange->faces->face[wait_any(exchange->faces->count, receives, times)];
        unpack(exchange->faces->memory, face, face->incoming, times);
    }
}

/* Posts all receives, sends each face as soon as it is packed, and unpacks each message as it arrives. */
static void run_manual(struct exchange *exchange, struct halo_times *times) {
    MPI_Request receives[FACES_MAX];
    MPI_Request sends[FACES_MAX];
    struct face *faces = exchange->faces->face;
    const struct memory *memory = exchange->faces->memory;
    int count = exchange->faces->count;
    for (int f = 0; f < count; f++)
        MPI_CHECK(MPI_Irecv(faces[f].incoming, faces[f].cells, MPI_DOUBLE, faces[f].neighbour,
                            faces_opposite(f), MPI_COMM_WORLD, &receives[f]));
    for (int f = 0; f < count; f++) {
        pack(memory, &faces[f], times);
        MPI_CHECK(MPI_Isend(faces[f].outgoing, faces[f].cells, MPI_DOUBLE, faces[f].neighbour, f,
                            MPI_COMM_WORLD, &sends[f]));
    }
    unpack_arrivals(exchange, receives, times);
    wait_all(count, sends, times);
}

/* ---- persistent ---- */

static void open_persistent(struct exchange *exchange) {
    struct face *faces = exchange->faces->face;
    for (int f = 0; f < exchange->faces->count; f++) {
        MPI_CHECK(MPI_Recv_init(faces[f].incoming, faces[f].cells, MPI_DOUBLE, faces[f].neighbour,
                                faces_opposite(f), MPI_COMM_WORLD, &exchange->receives[f]));
        MPI_CHECK(MPI_Send_init(faces[f].outgoing, faces[f].cells, MPI_DOUBLE, faces[f].neighbour, f,
                                MPI_COMM_WORLD, &exchange->sends[f]));
    }
}

static void close_persistent(struct exchange *exchange) {
    for (int f = 0; f < exchange->faces->count; f++) {
        MPI_CHECK(MPI_Request_free(&exchange->receives[f]));
        MPI_CHECK(MPI_Request_free(&exchange->sends[f]));
    }
}

static void run_persistent(struct exchange *exchange, struct halo_times *times) {
    struct face *faces = exchange->faces->face;
    const struct memory *memory = exchange->faces->memory;
    int count = exchange->faces->count;
    MPI_CHECK(MPI_Startall(count, exchange->receives));
    for (int f = 0; f < count; f++) {
        pack(memory, &faces[f], times);
        MPI_CHECK(MPI_Start(&exchange->sends[f]));
    }
    unpack_arrivals(exchange, exchange->receives, times);
    wait_all(count, exchange->sends, times);
}

/* ---- datatypes ---- */

/* `count` blocks of the face at its stride. */
static MPI_Datatype blocks_type(const struct face_shape *shape, size_t count) {
    MPI_Datatype type;
    MPI_CHECK(MPI_Type_create_hvector((int)count, (int)shape->length,
                                      (MPI_Aint)(shape->stride * sizeof(double)), MPI_DOUBLE, &type));
    return type;
}

/* The whole passes of a folded face, each shifted by the pitch. */
static MPI_Datatype passes_type(const struct face_shape *shape) {
    MPI_Datatype type;
    MPI_Datatype pass = blocks_type(shape, shape->rows);
    MPI_CHECK(MPI_Type_create_hvector((int)(shape->blocks / shape->rows), 1,
                                      (MPI_Aint)(shape->pitch * sizeof(double)), pass, &type));
    MPI_CHECK(MPI_Type_free(&pass));
    return type;
}

static void open_types(struct exchange *exchange) {
    for (int f = 0; f < exchange->faces->count; f++) {
        /* The whole passes of the face, then the rest, which is less than a pass. */
        const struct face_shape *shape = &exchange->faces->face[f].shape;
        size_t rest = shape->blocks % shape->rows;
        size_t passes = shape->blocks / shape->rows;
        MPI_Datatype parts[2] = {passes_type(shape), blocks_type(shape, rest ? rest : 1)};
        MPI_Aint at[2] = {0, (MPI_Aint)(passes * shape->pitch * sizeof(double))};
        int counts[2] = {1, 1};
        MPI_CHECK(MPI_Type_create_struct(rest ? 2 : 1, counts, at, parts, &exchange->types[f]));
        MPI_CHECK(MPI_Type_commit(&exchange->types[f]));
        MPI_CHECK(MPI_Type_free(&parts[0]));
        MPI_CHECK(MPI_Type_free(&parts[1]));
    }
}

static void close_types(struct exchange *exchange) {
    for (int f = 0; f < exchange->faces->count; f++)
        MPI_CHECK(MPI_Type_free(&exchange->types[f]));
}

static void run_datatypes(struct exchange *exchange, struct halo_times *times) {
    MPI_Request requests[2 * FACES_MAX];
    struct face *faces = exchange->faces->face;
    int count = exchange->faces->count;
    for (int f = 0; f < count; f++)
        MPI_CHECK(MPI_Irecv(faces[f].ghost, 1, exchange->types[f], faces[f].neighbour, faces_opposite(f),
                            MPI_COMM_WORLD, &requests[f]));
    for (int f = 0; f < count; f++)
        MPI_CHECK(MPI_Isend(faces[f].boundary, 1, exchange->types[f], faces[f].neighbour, f, MPI_COMM_WORLD,
                            &requests[count + f]));
    wait_all(2 * count, requests, times);
}

/* ---- neighbours ---- */

/* Destination f is the neighbour across face f; source f is the neighbour whose face f meets ours. */
static void open_neighbours(struct exchange *exchange) {
    int sources[FACES_MAX];
    int destinations[FACES_MAX];
    int weights[FACES_MAX];
    int count = exchange->faces->count;
    open_types(exchange);
    for (int f = 0; f < count; f++) {
        weights[f] = 1;
        destinations[f] = exchange->faces->face[f].neighbour;
        sources[f] = exchange->faces->face[faces_opposite(f)].neighbour;
    }
    MPI_CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, count, sources, weights, count, destinations,
                                             weights, MPI_INFO_NULL, 0, &exchange->neighbours));
}

static void close_neighbours(struct exchange *exchange) {
    MPI_CHECK(MPI_Comm_free(&exchange->neighbours));
    close_types(exchange);
}

static void run_neighbours(struct exchange *exchange, struct halo_times *times) {
    MPI_Aint from[FACES_MAX];
    MPI_Aint to[FACES_MAX];
    MPI_Datatype ghost_types[FACES_MAX];
    int ones[FACES_MAX];
    MPI_Request request;
    const struct faces *faces = exchange->faces;
    for (int f = 0; f < faces->count; f++) {
        ones[f] = 1;
        int ghost = faces_opposite(f); /* what the neighbour sends through its face f arrives there */
        MPI_CHECK(MPI_Get_address(faces->face[f].boundary, &from[f]));
        MPI_CHECK(MPI_Get_address(faces->face[ghost].ghost, &to[f]));
        ghost_types[f] = exchange->types[ghost];
    }
    MPI_CHECK(MPI_Ineighbor_alltoallw(MPI_BOTTOM, ones, from, exchange->types, MPI_BOTTOM, ones, to,
                                      ghost_types, exchange->neighbours, &request));
    wait_all(1, &request, times);
}

/* ---- copy ---- */

static void run_copy(struct exchange *exchange, struct halo_times *times) {
    struct face *faces = exchange->faces->face;
    for (int f = 0; f < exchange->faces->count; f++)
        pack(exchange->faces->memory, &faces[f], times);
    for (int f = 0; f < exchange->faces->count; f++)
        unpack(exchange->faces->memory, &faces[f], faces[f].outgoing, times);
}

/* ---- the table ---- */

const struct halo_variant halo_variants[HALO_VARIANTS] = {
    {"manual", true, true, nothing, run_manual, nothing},
    {"persistent", true, true, open_persistent, run_persistent, close_persistent},
    {"datatypes", false, true, open_types, run_datatypes, close_types},
    {"neighbours", false, true, open_neighbours, run_neighbours, close_neighbours},
    {"copy", true, false, nothing, run_copy, nothing},
};

struct halo_times halo_iterate(const struct halo_variant *variant, struct exchange *exchange) {
    struct halo_times times = {0};
    double start_s = MPI_Wtime();
    variant->run(exchange, &times);
    times.iteration = MPI_Wtime() - start_s;
    return times;
}
