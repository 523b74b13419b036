# Writes the files of DIR as arrays of C to OUT (web_page.h): cmake -D DIR=... -D OUT=... -P page.cmake
set(type_html "text/html; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_css "text/css; charset=utf-8")
file(GLOB files ${DIR}/*)
list(SORT files)
set(arrays "")
set(rows "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  get_filename_component(extension ${file} LAST_EXT)
  string(SUBSTRING ${extension} 1 -1 extension)
  if(NOT type_${extension})
    message(FATAL_ERROR "${file}: unknown type")
  endif()
  string(MAKE_C_IDENTIFIER ${name} id)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "static const uint8_t ${id}[] = {${bytes}};\n")
  if(name STREQUAL index.html)
    set(name "")
  endif()
  string(APPEND rows "    {\"/${name}\", \"${type_${extension}}\", ${id}, sizeof ${id}},\n")
endforeach()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT
"/* Made from engine/web/page by page.cmake. */
#include \"engine/web/web_page.h\"

@arrays@
const struct web_file web_files[] = {
@rows@    {NULL, NULL, NULL, 0}};
")
