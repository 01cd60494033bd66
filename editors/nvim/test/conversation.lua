-- A conversation through the LSP client that Neovim has built in, with no plugin:
--   nvim --clean --headless -l conversation.lua SERVER MODEL
-- The working directory is the workspace, with greet.sh and check.sh in it. Prints
-- "ok WHAT" or "FAIL WHAT: got ..." for each expectation; ends with 1 after a FAIL.
local server, model_program = arg[1], arg[2]
local patience = 20000 -- ms; bounds every wait, nothing is expected to take that long
local modern = vim.fn.has('nvim-0.11') == 1 -- clients are objects with methods since then
local failed = false

local function check(what, got, want)
  what = ('nvim %s: %s'):format(vim.version(), what)
  if vim.deep_equal(got, want) then
    print('ok ' .. what)
  else
    failed = true
    print(('FAIL %s: got %s, want %s'):format(what, vim.inspect(got), vim.inspect(want)):gsub('%s*\n%s*', ' ') .. '')
  end
end

local function wait_for(what, condition)
  if not vim.wait(patience, condition, 5) then error('waited in vain for ' .. what, 0) end
end

-- The editor's side.

local function text() return vim.api.nvim_buf_get_lines(0, 0, -1, true) end
local function on_disk(name) return vim.fn.readfile(name, 'b') end
-- Keys as a user's: only these close an undo step.
local function type_keys(keys) vim.api.nvim_feedkeys(vim.keycode(keys), 'tx', false) end

local model_said = ''
local model = vim.system({ model_program }, { stdin = true, stdout = function(_, s) model_said = model_said .. (s or '') end })
wait_for('the model server', function() return model_said:find('\n') end)

local client, events, seen, ended

local function connect()
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.experimental = { shiro = { protocolVersions = { 1 } } }
  events, seen, ended = {}, 0, nil
  local id = vim.lsp.start({
    name = 'shiro', cmd = { server }, cmd_env = { SHIRO_BASE_URL = vim.split(model_said, '\n')[1] },
    root_dir = vim.uv.cwd(), capabilities = capabilities,
    handlers = { ['shiro/event'] = function(_, event) table.insert(events, event) end },
    on_exit = function(code, signal) ended = { code = code, signal = signal } end,
  })
  client = assert(vim.lsp.get_client_by_id(id))
  wait_for('initialize', function() return client.initialized end)
end

local function call(method, params)
  local answer, why
  if modern then
    answer, why = client:request_sync(method, params, patience)
  else
    answer, why = client.request_sync(method, params, patience)
  end
  if not answer or answer.err then error(method .. ': ' .. vim.inspect(answer and answer.err or why), 0) end
  return answer.result
end

local function prompt(session, words)
  call('shiro/turn/start', { sessionId = session, input = { { type = 'text', text = words } } })
end

local function next_event(kind)
  local found
  wait_for(kind, function()
    while seen < #events and not found do
      seen = seen + 1
      if events[seen].type == kind then found = events[seen].data end
    end
    return found
  end)
  return found
end

local function answer(approval, option)
  return call('shiro/approval/respond', { sessionId = approval.sessionId, approvalId = approval.approvalId, optionId = option })
end

-- The words that streamed: each text with the number of its pieces, as they fit
-- together and as its item was completed.
local function streamed()
  local texts, order = {}, {}
  for _, event in ipairs(events) do
    local data = event.data
    if event.type == 'item.delta' and data.channel == 'text' then
      local t = texts[data.itemId] or { pieces = 0, joined = '' }
      assert(data.from == #t.joined and data.to == data.from + #data.text, 'a gap in the stream')
      texts[data.itemId] = { pieces = t.pieces + 1, joined = t.joined .. data.text }
    elseif event.type == 'item.completed' and data.item.kind == 'text' then
      table.insert(order, vim.tbl_extend('error', texts[data.item.id] or {}, { completed = data.item.text }))
    end
  end
  return order
end

local function tools_output(name)
  for _, event in ipairs(events) do
    local item = event.data.item
    if event.type == 'item.completed' and item.toolName == name then return item.output end
  end
end

-- The conversation.

local function first_turn()
  vim.cmd.edit('greet.sh')
  vim.bo.fixendofline = false -- so that the last edit ends inside a line, behind wide characters
  connect()
  check('the server speaks version 1', vim.tbl_get(client.server_capabilities, 'experimental', 'shiro', 'protocolVersion'), 1)
  type_keys('2GA, kindly<Esc>OX# é漢😀<Esc>0x')
  local mine = text()
  check('the user typed', { mine[2], mine[3] }, { '# é漢😀', '# 😀漢é greets, kindly' })

  local session = call('shiro/session/create', { cwd = vim.uv.cwd() }).session.id
  prompt(session, 'make the check pass, 漢😀')
  local todo = next_event('todo.updated')
  check('the task list', vim.tbl_map(function(e) return e.text .. ': ' .. e.status end, todo.entries),
    { 'run the check: in_progress', 'fix it: pending' })

  local run = next_event('approval.requested')
  check('a command is asked about', run.subject.command.command, 'sh check.sh')
  check('the approval is taken', answer(run, 'once'), { status = 'applied', outcome = 'allowed' })

  local edit = next_event('approval.requested')
  check('the file was read from the buffer', tools_output('read_file'):find('# 😀漢é greets, kindly', 1, true) ~= nil, true)
  check('the command saw the file on disk', tools_output('bash'):find('got é漢😀 goodbye', 1, true) ~= nil, true)
  local words = streamed()[1]
  check('text streams in pieces', words.pieces > 1, true)
  check('the pieces are the text', { words.joined, words.completed },
    { 'The word after é漢😀 is wrong, in two places.', 'The word after é漢😀 is wrong, in two places.' })
  local file = edit.subject.edit.files[1]
  check('the edit is for this document', file.uri, vim.uri_from_bufnr(0))
  check('the edit shows what the user typed', file.hunks[1].text:find(' # 😀漢é greets, kindly\n', 1, true) ~= nil, true)
  check('the buffer waits for the answer', text(), mine)

  local before = on_disk('greet.sh')
  answer(edit, 'once')
  local again = next_event('approval.requested')
  local theirs = vim.tbl_map(function(line) return (line:gsub('goodbye', 'hello')) end, mine)
  check('the edit is in the buffer', text(), theirs)
  check('the buffer is modified', vim.bo.modified, true)
  check('the disk waits for the user', on_disk('greet.sh'), before)
  type_keys('u')
  check('one undo takes the edit back and nothing else', text(), mine)
  type_keys('<C-r>')
  check('redo', text(), theirs)
  vim.cmd('silent write')
  check('the file is written, with no newline at its end', on_disk('greet.sh'), theirs)

  answer(again, 'once')
  local turn = next_event('turn.completed')
  check('the turn is completed', { turn.status, turn.stopReason }, { 'completed', 'end_turn' })
  check('the changes are counted', turn.changedFiles, { { uri = vim.uri_from_bufnr(0), added = 2, removed = 2 } })
  check('the answer', streamed()[2].completed, 'The check passes now.')
  return session
end

local function second_turn(session)
  -- Neovim tells the pid of no server; its children are the model and the server.
  local children = vim.tbl_filter(function(pid) return pid ~= model.pid end, vim.api.nvim_get_proc_children(vim.fn.getpid()))
  assert(#children == 1, 'more than one server runs')
  vim.uv.kill(children[1], 'sigkill')
  wait_for('the end of the server', function() return ended and not vim.lsp.get_client_by_id(client.id) end)
  check('the server was killed', ended.signal, 9)

  connect()
  local attached = call('shiro/session/attach', { sessionId = session:sub(1, 13) })
  check('a new server knows the conversation', { attached.mode, attached.state.session.id }, { 'snapshot', session })
  local items = attached.state.items
  check('all its items', vim.tbl_map(function(item) return item.kind end, items), {
    'user', 'reasoning', 'tool', 'reasoning', 'tool', 'tool', 'text', 'tool', 'tool', 'reasoning', 'text',
  })
  check('the first and the last', { items[1].text, items[#items].text }, { 'make the check pass, 漢😀', 'The check passes now.' })
  check('its task list', #attached.state.todo.entries, 2)

  prompt(session, 'thank you')
  check('the second turn is completed', next_event('turn.completed').status, 'completed')
  check('its answer', streamed()[1].joined, 'You are welcome, 漢😀.')
  if modern then client:stop() else client.stop() end
  wait_for('the end of the server', function() return ended end)
  check('the server ends when it is told to', ended, { code = 0, signal = 0 })
end

local done, why = xpcall(function() second_turn(first_turn()) end, debug.traceback)
check('the conversation comes to its end', done or why, true)
model:write(nil)
local strict = model:wait(patience)
check('the model server had nothing to refuse', { strict.code, vim.split(model_said, '\n', { trimempty = true })[2] }, { 0 })
os.exit(failed and 1 or 0)
