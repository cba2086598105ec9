-- Text is broken to the window's width, and Markdown in it is marked. Needs no server.
local eq = MiniTest.expect.equality
local prose = require('ullage.context.prose')

local T = MiniTest.new_set()

local function texts(lines)
  return vim.tbl_map(function(line)
    return line.text
  end, lines)
end

---Returns the marked parts of each line, as `{ group, text }`.
local function marked(lines)
  local found = {}
  for _, line in ipairs(lines) do
    for _, span in ipairs(line.spans) do
      found[#found + 1] = { span[3], line.text:sub(span[1] + 1, span[2]) }
    end
  end
  return found
end

local function markdown(line, width, fence)
  return prose.markdown(line, width or 80, fence or {})
end

T['prose is broken at blanks, and under the text of its list'] = function()
  eq(texts(markdown('one two three four five', 16)), { 'one two three', 'four five' })
  eq(texts(markdown('- one two three four', 16)), { '- one two three', '  four' })
  eq(texts(markdown('10. one two three four', 16)), { '10. one two', '    three four' })
  eq(texts(markdown('')), { '' })
end

T['no line is wider than the window'] = MiniTest.new_set({ parametrize = { { 16 }, { 21 }, { 40 }, { 88 } } })
T['no line is wider than the window']['at any width'] = function(width)
  local samples = {
    'A path /home/user/projects/a-very-long-name/that/has/no/blank/in/it/at/all.lua in the middle',
    '- ' .. ('x'):rep(200),
    '    ' .. ('y'):rep(100) .. ' z',
    '日本語のとても長い文がここにあります。' .. ('もう一つ'):rep(20),
    'Ein schöner langer Satz mit Umläuten, der über mehrere Zeilen geht, ohne dass etwas fehlt.',
    '| a | ' .. ('b'):rep(90) .. ' |',
    '# ' .. ('heading '):rep(20),
    '> ' .. ('quote '):rep(20),
  }
  for _, sample in ipairs(samples) do
    local joined = {}
    for _, line in ipairs(markdown(sample, width)) do
      eq({ line.text, vim.fn.strdisplaywidth(line.text) <= width }, { line.text, true })
      joined[#joined + 1] = line.text
    end
    eq(table.concat(joined):gsub('%s', ''), (sample:gsub('%s', '')))
  end
end

T['a wide window does not make long lines of prose'] = function()
  eq(#texts(markdown(('word '):rep(40), 200)) > 2, true)
  eq(#texts(markdown('| ' .. ('cell | '):rep(20), 200)), 1)
end

T['Markdown is marked'] = function()
  eq(marked(markdown('## Plan')), { { 'UllageTitle', '## Plan' } })
  eq(marked(markdown('Use `a_b_c` and **both** of [them](http://x/y) *now*.')), {
    { 'UllageCode', 'a_b_c' },
    { 'UllageLink', 'them' },
    { '@markup.strong', 'both' },
    { '@markup.italic', 'now' },
  })
  eq(marked(markdown('- item')), { { 'UllageMarker', '-' } })
  eq(marked(markdown('2 * 3 * 4 and snake_case_names')), {})
  eq(marked(markdown('`**not bold**`')), { { 'UllageCode', '**not bold**' } })
end

T['a mark that is broken over two lines is marked on both'] = function()
  eq(marked(markdown('a long text **with bold words** in it', 20)), {
    { '@markup.strong', 'with' },
    { '@markup.strong', 'bold words' },
  })
end

T['marks are not shown'] = MiniTest.new_set({
  parametrize = {
    { 'Use `a_b_c` and **both** of [them](http://x/y) *now*.', 'Use a_b_c and both of them now.' },
    { '**`words.lua`** and ``a ` tick``', 'words.lua and a ` tick' },
    { '***all*** of __these words__ and _this_', 'all of these words and this' },
    { '**a *b* c**', 'a b c' },
    { '- **one**: two', '- one: two' },
    { '* item with *emphasis*', '* item with emphasis' },
  },
})
T['marks are not shown']['in prose'] = function(line, text)
  eq(markdown(line)[1].text, text)
end

T['program text keeps its characters'] = MiniTest.new_set({
  parametrize = {
    { 'a*b*c and 2 * 3 * 4' },
    { '__init__.py and _private_name and snake_case_names' },
    { 'src/**/*.lua and tests/**' },
    { 'an open ` tick, ** two asterisks' },
    { 'list[0](x y) and [1] (not a link)' },
    { '| **bold** | in a table |' },
  },
})
T['program text keeps its characters']['outside of code'] = function(line)
  eq(markdown(line)[1].text, line)
end
T['program text keeps its characters']['in code'] = function(line)
  eq(markdown('`x = ' .. line:gsub('`', '') .. '`')[1].text, 'x = ' .. line:gsub('`', ''))
end

T['lines are filled with what is shown'] = function()
  local lines = markdown('see [the text](https://example.org/a/very/long/address) and **bold** words here', 20)
  eq(texts(lines), { 'see the text and', 'bold words here' })
  lines = markdown('**' .. ('x'):rep(32) .. '**', 16)
  eq(texts(lines), { ('x'):rep(16), ('x'):rep(16) })
end

T['an address of anything but a page or a mailbox is no link, and can be read'] = function()
  for _, address in ipairs({ 'file:///tmp/run.desktop', 'javascript:x', 'vscode://x', '/tmp/run.desktop' }) do
    local text = ('[the notes](%s)'):format(address)
    eq(markdown(text), { { text = text, spans = {} } })
  end
  eq(markdown('[a](file:///b) [c](mailto:d@e)')[1].spans[1].url, 'mailto:d@e')
end

T['a link knows its address'] = function()
  eq(markdown('[them](http://x/y)')[1].spans[1].url, 'http://x/y')
end

T['a block of code is code until its end, whatever is in it'] = function()
  local fence, groups = {}, {}
  for _, line in ipairs({ '````lua', '# no heading', '```', 'x = `1`', '````', '# heading' }) do
    groups[#groups + 1] = marked(prose.markdown(line, 80, fence))[1][1]
  end
  eq(groups, { 'UllageMuted', 'UllageCode', 'UllageCode', 'UllageCode', 'UllageMuted', 'UllageTitle' })
end

T['output is cut like a terminal’s, without colour codes'] = function()
  eq(texts(prose.output('\27[31m' .. ('ab'):rep(10) .. '\27[0m', 16)), { ('ab'):rep(8), 'abab' })
  eq(texts(prose.output('a\tb\r', 80)), { 'a    b ' })
  eq(texts(prose.output('', 80)), { '' })
end

return T
