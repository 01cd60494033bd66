-- A small shiro client for Neovim 0.10 and newer, until the plugin is there:
--   :Shiro {prompt}   ask; the answer streams into a window of its own
--   :ShiroStop        interrupt
-- Put it into your configuration, or try it: nvim --clean -u init.lua FILE
local shiro = { session = nil, out = nil }

local function client() return vim.lsp.get_clients({ name = 'shiro' })[1] end

local function request(method, params, done)
  local c = client()
  if not c then return vim.notify('shiro is not running; open a file first', vim.log.levels.WARN) end
  local function answer(err, res)
    if err then vim.notify('shiro: ' .. err.message, vim.log.levels.ERROR) elseif done then done(res) end
  end
  if vim.fn.has('nvim-0.11') == 1 then c:request(method, params, answer) else c.request(method, params, answer) end
end

-- show appends text to the answer's window without moving the cursor elsewhere.
local function show(text)
  if not (shiro.out and vim.api.nvim_buf_is_valid(shiro.out)) then
    shiro.out = vim.api.nvim_create_buf(false, true)
    vim.bo[shiro.out].filetype = 'markdown'
    vim.api.nvim_open_win(shiro.out, false, { split = 'right', width = 60 })
  end
  local last = vim.api.nvim_buf_get_lines(shiro.out, -2, -1, false)[1] or ''
  vim.api.nvim_buf_set_lines(shiro.out, -2, -1, false, vim.split(last .. text, '\n'))
  for _, win in ipairs(vim.fn.win_findbuf(shiro.out)) do
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(shiro.out), 0 })
  end
end

-- line shows text on a line of its own.
local function line(text)
  local last = shiro.out and vim.api.nvim_buf_is_valid(shiro.out) and vim.api.nvim_buf_get_lines(shiro.out, -2, -1, false)[1]
  show((last and last ~= '' and '\n' or '') .. text .. '\n')
end

local function ask(approval)
  local what = { '\n**' .. approval.title .. '**' }
  for _, file in ipairs(approval.subject.edit and approval.subject.edit.files or {}) do
    for _, hunk in ipairs(file.hunks) do what[#what + 1] = '```diff\n' .. hunk.text .. '```' end
  end
  local command = approval.subject.command
  if command then what[#what + 1] = '```sh\n' .. (command.shown or command.command) .. '\n```' end
  line(table.concat(what, '\n'))
  vim.cmd.redraw() -- what is asked about is seen before the question
  vim.ui.select(approval.options, { prompt = approval.title, format_item = function(o) return o.label end }, function(option)
    if option then -- a closed menu is no answer
      request('shiro/approval/respond', { sessionId = approval.sessionId, approvalId = approval.approvalId, optionId = option.id })
    end
  end)
end

local on = {
  ['item.delta'] = function(d) if d.channel == 'text' then show(d.text) end end,
  ['item.completed'] = function(d)
    if d.item.kind == 'tool' then line('- ' .. d.item.title .. ' (' .. d.item.status .. ')') elseif d.item.kind == 'text' then show('\n') end
  end,
  ['approval.requested'] = ask,
  ['turn.completed'] = function(d) line('\n' .. (d.error and d.error.message or '---')) end,
  ['notice'] = function(d) vim.notify('shiro: ' .. d.title) end,
}

vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
  callback = function(event)
    if vim.bo[event.buf].buftype ~= '' then return end
    vim.lsp.start({
      name = 'shiro', cmd = vim.g.shiro_cmd or { 'shiro' },
      root_dir = vim.fs.root(event.buf, '.git') or vim.fn.getcwd(),
      capabilities = vim.tbl_deep_extend('force', vim.lsp.protocol.make_client_capabilities(), {
        experimental = { shiro = { protocolVersions = { 1 }, clientId = 'nvim' } },
      }),
      handlers = { ['shiro/event'] = function(_, e) if on[e.type] then on[e.type](e.data) end end },
    }, { bufnr = event.buf })
  end,
})

vim.api.nvim_create_user_command('Shiro', function(cmd)
  local function prompt(session)
    shiro.session = session
    line('\n**' .. cmd.args .. '**\n')
    request('shiro/turn/start', { sessionId = session, input = { { type = 'text', text = cmd.args } } })
  end
  if shiro.session then return prompt(shiro.session) end
  request('shiro/session/create', { cwd = client() and client().config.root_dir }, function(res) prompt(res.session.id) end)
end, { nargs = 1 })

vim.api.nvim_create_user_command('ShiroStop', function() request('shiro/turn/interrupt', { sessionId = shiro.session }) end, {})
