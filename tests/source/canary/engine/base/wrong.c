#include "engine/driver/driver.h"

int time_of_day(void)
{
    char text[10];
    sprintf(text, "%ld", time(NULL)); /* banned, and a system call that does not go through env; this line is too long */
    return atoi(text);
}
