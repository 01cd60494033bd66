-- One conversation between Neovim and the server, with a crash in the middle.
--   nvim --clean --headless -l conversation.lua SERVER MODEL
-- The working directory is the workspace, with greet.sh and check.sh in it. Prints
-- "ok WHAT" or "FAIL WHAT: got ..." for each expectation; ends with 1 after a FAIL.
local shiro = dofile(vim.fs.dirname(arg[0]) .. '/client.lua')
local server, model_program = arg[1], arg[2]
local failed = false

local function check(what, got, want)
  local line = ('ok nvim %s: %s'):format(vim.version(), what)
  if not vim.deep_equal(got, want) then
    failed = true
    local difference = (': got %s, want %s'):format(vim.inspect(got), vim.inspect(want))
    line = line:gsub('^ok', 'FAIL') .. difference:gsub('%s*\n%s*', ' ')
  end
  io.stdout:write(line, '\n')
end

local function has(text, part) return text ~= nil and text:find(part, 1, true) ~= nil end

-- What the user sees and does.
local function buffer() return vim.api.nvim_buf_get_lines(0, 0, -1, true) end
local function disk() return vim.fn.readfile('greet.sh', 'b') end
-- The last key closes the undo step, which the main loop does before it handles an
-- event; a script never gets there.
local function type_keys(keys) vim.api.nvim_feedkeys(vim.keycode(keys .. '<Esc><Esc>'), 'tx', false) end

local function read(path)
  local file = io.open(path)
  local text = file and file:read('*a') or ''
  if file then file:close() end
  return text
end

local function prompt(session, words)
  shiro.call('shiro/turn/start', { sessionId = session, input = { { type = 'text', text = words } } })
end

local function allow(approval)
  local answer = { sessionId = approval.sessionId, approvalId = approval.approvalId, optionId = 'once' }
  local result = shiro.call('shiro/approval/respond', answer)
  check('answered: ' .. approval.title, result, { status = 'applied', outcome = 'allowed' })
end

local function said() return shiro.completed(function(item) return item.kind == 'text' end) end
local function output(tool)
  return shiro.completed(function(item) return item.toolName == tool end)[1].output
end

local function edit_and_answer(session)
  type_keys('2GyyPjA, kindly')
  local mine = buffer()
  check('the user typed', { mine[2], mine[3] }, { '# 😀漢é greets', '# 😀漢é greets, kindly' })
  prompt(session, 'make the check pass, 漢😀')
  local tasks = vim.tbl_map(function(e) return e.status .. ': ' .. e.text end, shiro.next_event('todo.updated').entries)
  check('the task list', tasks, { 'in_progress: run the check', 'pending: fix it' })

  local run = shiro.next_event('approval.requested')
  check('a command is asked about', { run.kind, run.subject.command.command }, { 'command', 'sh check.sh' })
  allow(run)

  local edit = shiro.next_event('approval.requested')
  check('the model read the buffer', has(output('read_file'), '# 😀漢é greets, kindly'), true)
  check('the command read the disk', has(output('bash'), 'got é漢😀 goodbye'), true)
  local words, pieces = shiro.streamed(said()[1])
  check('text streams in pieces', pieces > 1, true)
  check('the pieces are the text', { words, said()[1].text }, { 'The word after é漢😀 is wrong, twice.', words })
  local file = edit.subject.edit.files[1]
  check('the edit is of this document', { #edit.subject.edit.files, file.uri }, { 1, vim.uri_from_bufnr(0) })
  check('the edit shows what the user typed', has(file.hunks[1].text, ' # 😀漢é greets, kindly\n'), true)
  check('the buffer waits for the answer', buffer(), mine)

  local before, theirs = disk(), vim.tbl_map(function(line) return (line:gsub('goodbye', 'hello')) end, mine)
  allow(edit)
  local again = shiro.next_event('approval.requested')
  check('the edit is in the buffer', buffer(), theirs)
  check('the disk waits for the user', { vim.bo.modified, disk() }, { true, before })
  type_keys('u')
  check('one undo takes back the edit and no more', buffer(), mine)
  type_keys('<C-r>')
  check('redo', buffer(), theirs)
  vim.cmd.write()
  check('the buffer is written', disk(), theirs)

  allow(again)
  local turn = shiro.next_event('turn.completed')
  check('the turn is completed', { turn.status, turn.stopReason }, { 'completed', 'end_turn' })
  check('its changes are counted', turn.changedFiles, { { uri = vim.uri_from_bufnr(0), added = 2, removed = 2 } })
  check('its answer', said()[2].text, 'The check passes now.')
end

local function go_on(session)
  local attached = shiro.call('shiro/session/attach', { sessionId = session:sub(1, 13) })
  check('a new server finds the session', { attached.mode, attached.state.session.id }, { 'snapshot', session })
  local items = vim.tbl_map(function(item) return item.toolName or item.text end, attached.state.items)
  check('all of it', items, {
    'make the check pass, 漢😀', 'planning', 'todo_write', 'look first', 'read_file', 'bash',
    'The word after é漢😀 is wrong, twice.', 'edit_file', 'bash', 'done', 'The check passes now.',
  })
  check('its task list', #attached.state.todo.entries, 2)
  prompt(session, 'thank you')
  check('the second turn is completed', shiro.next_event('turn.completed').status, 'completed')
  check('its answer streams', (shiro.streamed(said()[1])), 'You are welcome, 漢😀.')
end

local function converse()
  local told = ''
  local model = vim.system({ model_program }, { stdin = true, stdout = function(_, s) told = told .. (s or '') end })
  shiro.wait_for('the model server', function() return has(told, '\n') end)
  local url = vim.trim(told)

  vim.cmd.edit('greet.sh')
  vim.bo.fixendofline = false -- so that an edit can end inside a line, behind wide characters
  shiro.connect(server, url)
  local extra = shiro.client.server_capabilities.experimental or {}
  check('the server speaks version 1', vim.tbl_get(extra, 'shiro', 'protocolVersion'), 1)
  local session = shiro.call('shiro/session/create', { cwd = vim.uv.cwd() }).session.id
  edit_and_answer(session)

  -- The record follows the turn within two seconds; what a kill may take is less than that.
  local record = vim.fs.joinpath(vim.env.SHIRO_HOME, '.shiro-neko', 'sessions', session .. '.json')
  shiro.wait_for('the record', function() return has(read(record), 'The check passes now.') end)
  shiro.kill(model.pid)
  check('the server was killed', shiro.ended.signal, 9)
  shiro.connect(server, url)
  go_on(session)
  shiro.stop()
  check('the server ends when told to', shiro.ended, { code = 0, signal = 0 })

  check('the server had nothing to complain about', read(vim.lsp.log.get_filename()):match('[^\n]*"stderr".*'), nil)
  model:write(nil)
  check('the model server refused nothing', { model:wait(shiro.patience).code, vim.trim(told) }, { 0, url })
end

local done, why = xpcall(converse, debug.traceback)
check('the conversation comes to its end', done or why, true)
os.exit(failed and 1 or 0)
