/* Every operator, by name. A new one is a file and a line here. */
#include "engine/plan/context_config.h"
#include "ops/ops.h"

#define OPS(X)                                                                                     \
    X(text_file)                                                                                   \
    X(key_value_text_file)                                                                         \
    X(n_line_text_file)                                                                            \
    X(column_pairs)                                                                                \
    X(column_cells)                                                                                \
    X(column_batches)                                                                              \
    X(msgpack_file)                                                                                \
    X(whole_text_files)                                                                            \
    X(binary_files)                                                                                \
    X(binary_records)                                                                              \
    X(parallelize)                                                                                 \
    X(range)                                                                                       \
    X(map)                                                                                         \
    X(flat_map)                                                                                    \
    X(filter)                                                                                      \
    X(map_partitions)                                                                              \
    X(map_partitions_with_index)                                                                   \
    X(pipe)                                                                                        \
    X(map_values)                                                                                  \
    X(flat_map_values)                                                                             \
    X(key_by)                                                                                      \
    X(keys)                                                                                        \
    X(values)                                                                                      \
    X(union)                                                                                       \
    X(coalesce)                                                                                    \
    X(key_by_random_split)                                                                         \
    X(random_split)                                                                                \
    X(sample)                                                                                      \
    X(sample_exactly)                                                                              \
    X(sample_with_replacement)                                                                     \
    X(sample_by_key)                                                                               \
    X(reduce_by_key)                                                                               \
    X(fold_by_key)                                                                                 \
    X(aggregate_by_key)                                                                            \
    X(combine_by_key)                                                                              \
    X(group_by_key)                                                                                \
    X(side)                                                                                        \
    X(join)                                                                                        \
    X(left_outer_join)                                                                             \
    X(right_outer_join)                                                                            \
    X(full_outer_join)                                                                             \
    X(join_pairs)                                                                                  \
    X(cogroup)                                                                                     \
    X(group_with)                                                                                  \
    X(subtract_by_key)                                                                             \
    X(subtract_by_key_left)                                                                        \
    X(distinct)                                                                                    \
    X(intersection)                                                                                \
    X(intersection_both)                                                                           \
    X(subtract)                                                                                    \
    X(subtract_left)                                                                               \
    X(filter_by_range)                                                                             \
    X(record_pack)                                                                                 \
    X(record_unpack)                                                                               \
    X(zip_with_index)                                                                              \
    X(zip_with_unique_id)                                                                          \
    X(zip)                                                                                         \
    X(zip_partitions)                                                                              \
    X(cartesian)                                                                                   \
    X(glom)                                                                                        \
    X(pair_pack)                                                                                   \
    X(partition_by)                                                                                \
    X(repartition)                                                                                 \
    X(repartition_and_sort_within_partitions)                                                      \
    X(sort_by_keys)                                                                                \
    X(sort_by_key)                                                                                 \
    X(key_sample)                                                                                  \
    X(collect)                                                                                     \
    X(count)                                                                                       \
    X(count_by_key)                                                                                \
    X(count_by_value)                                                                              \
    X(take)                                                                                        \
    X(take_sample)                                                                                 \
    X(take_ordered)                                                                                \
    X(top)                                                                                         \
    X(min)                                                                                         \
    X(max)                                                                                         \
    X(reduce)                                                                                      \
    X(fold)                                                                                        \
    X(aggregate)                                                                                   \
    X(tree_reduce)                                                                                 \
    X(tree_aggregate)                                                                              \
    X(tree_merge)                                                                                  \
    X(tree_shuffle)                                                                                \
    X(tree_result)                                                                                 \
    X(sum)                                                                                         \
    X(stats)                                                                                       \
    X(histogram)                                                                                   \
    X(limits)                                                                                      \
    X(count_approx_distinct)                                                                       \
    X(lookup)                                                                                      \
    X(foreach)                                                                                     \
    X(save_as_text_file)                                                                           \
    X(save_as_column_file)                                                                         \
    X(save_as_partitioned_column_files)                                                            \
    X(save_as_text_files)                                                                          \
    X(save_as_gzip_text_file)                                                                      \
    X(save_as_zstd_text_file)                                                                      \
    X(save_as_gzip_text_files)                                                                     \
    X(save_as_zstd_text_files)                                                                     \
    X(save_as_msgpack_file)

#define DECLARE(name) extern const struct op op_##name;
OPS(DECLARE)
#undef DECLARE

const struct op *const ops_table[] = {
#define LIST(name) &op_##name,
    OPS(LIST)
#undef LIST
        NULL};
