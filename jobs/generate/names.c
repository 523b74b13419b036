/* A name is a number in a mixed base: a family name, then one or two characters. The numbers of a
 * seed's rows are a permutation, so names are unique. */
#include "jobs/generate/names.h"

#include "jobs/generate/draw.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum {
    UTF8_BYTES = 3, /* of every character used here */
    FAMILIES = 100,
    GIVEN = 200,
    SHORT_NAMES = FAMILIES * GIVEN,
    LONG_NAMES = SHORT_NAMES * GIVEN,
    TURN = 11, /* of this many rows, two have short names */
    SHORT_PER_TURN = 2,
};

static const char FAMILY[] = "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐"
                             "许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈"
                             "姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹"
                             "薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔尤祝";
static_assert(sizeof FAMILY == UTF8_BYTES * FAMILIES + 1, "three bytes each");

static const char CHARACTER[] = "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚桂英华玉"
                                "萍红娥玲芬燕彩春菊兰凤洁梅琳素云莲真环雪荣爱妹香月"
                                "莺媛瑞凡佳嘉琼勤珍贞莉珊莎锦黛青倩婷姣婉娴瑾颖露瑶"
                                "怡婵雁蓓纨仪荷丹蓉眉君琴蕊薇菁梦岚苑婕馨瑗琰韵融园"
                                "艺咏卿聪澜纯毓悦昭冰爽琬茗羽希宁欣飘育滢馥筠柔竹霭"
                                "凝晓欢霄枫芸菲寒伊亚宜可姬舒影荔枝思峰俊永健世广志"
                                "义兴良海山仁波贵福生元全国胜学祥才发新利清飞彬富顺"
                                "信子心邦承乐绍功松善厚庆民友裕河哲浩亮政谦亨奇固之";
static_assert(sizeof CHARACTER == UTF8_BYTES * GIVEN + 1, "three bytes each");
static_assert(NAMES_ROWS_MAX / TURN * SHORT_PER_TURN == (int)SHORT_NAMES &&
                  (int)NAMES_ROWS_MAX <= (int)LONG_NAMES,
              "there are names for all rows");

/* Permutes 0 .. size - 1 by the stream. A factor that ends in 1, 3, 7 or 9 is coprime to a size of
 * twos and fives. */
static uint32_t permuted_index(uint64_t stream, uint64_t i, uint32_t size)
{
    static const uint8_t last_digit[] = {1, 3, 7, 9};
    assert(i < size && size % 10 == 0);
    const uint64_t factor =
        draw_below(stream, UINT64_MAX - 2, size / 10) * 10 + last_digit[stream % 4];
    return (uint32_t)((i * factor + draw_below(stream, UINT64_MAX - 3, size)) % size);
}

static uint8_t *put_character(uint8_t *out, const char *characters, uint32_t i)
{
    memcpy(out, characters + UTF8_BYTES * i, UTF8_BYTES);
    return out + UTF8_BYTES;
}

static uint8_t *put_name(uint8_t *out, uint64_t stream, uint64_t row)
{
    const uint64_t place = row % TURN;
    const bool is_short = place < SHORT_PER_TURN;
    uint32_t number = is_short
                          ? permuted_index(stream, row / TURN * SHORT_PER_TURN + place, SHORT_NAMES)
                          : permuted_index(stream, row, LONG_NAMES);
    out = put_character(out, FAMILY, number % FAMILIES);
    number /= FAMILIES;
    if (!is_short) out = put_character(out, CHARACTER, number / GIVEN);
    out = put_character(out, CHARACTER, number % GIVEN);
    *out++ = '\n';
    return out;
}

size_t names_format_rows(uint64_t seed, uint64_t first_row, uint64_t rows, uint8_t *out,
                         size_t capacity)
{
    assert(first_row <= NAMES_ROWS_MAX && rows <= NAMES_ROWS_MAX - first_row);
    assert(capacity / NAMES_ROW_BYTES_MAX >= rows);
    const uint64_t stream = draw_stream(seed);
    uint8_t *at = out;
    for (uint64_t row = first_row; row < first_row + rows; row++) at = put_name(at, stream, row);
    assert((size_t)(at - out) <= capacity);
    return (size_t)(at - out);
}
