#include "engine/driver/driver.h"

int time_of_day(void)
{
    char text[10];
    sprintf(text, "%ld", time(NULL)); /* banned, and a way to the world that is not env's; this line is too long */
    return atoi(text);
}
