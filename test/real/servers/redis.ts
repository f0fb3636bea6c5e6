import { connect } from 'node:net'
import { paced } from '../pace.js'
import { aptInstall } from './apt.js'
import { dataFolder, type RealServer, startServer } from './server.js'
import { findProgram, freePort, run } from './tools.js'

/**
 * An empty Redis that writes each command to its append-only file, and that file to the disk,
 * before it answers.
 */
export async function startRedis(): Promise<RealServer> {
  const command = await findRedis()
  const port = await freePort()
  const folder = dataFolder('redis')
  const listen = ['--bind', '127.0.0.1', '--port', `${port}`, '--protected-mode', 'yes', '--daemonize', 'no']
  const durable = ['--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always', '--save', '']
  return startServer({
    name: 'Redis',
    url: `redis://127.0.0.1:${port}`,
    folder,
    version: async () => /v=(\S+)/.exec(await run(command, ['--version']))![1]!,
    programs: [
      {
        name: 'redis-server',
        command,
        args: [...listen, ...durable],
        readySeconds: 60,
        ready: async () => (await redisSays(port, 'PING')) === '+PONG',
      },
    ],
  })
}

/**
 * Sends one command to a Redis, and reads one line: enough for an answer that is no bulk string and
 * no array.
 */
export function redisSays(port: number, ...words: readonly string[]): Promise<string> {
  const command = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`)
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    const limitMs = paced(5000)
    socket.setTimeout(limitMs, () => socket.destroy(new Error(`no answer within ${limitMs} ms`)))
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text
      const end = answer.indexOf('\r\n')
      if (end === -1) return
      resolve(answer.slice(0, end))
      socket.destroy()
    })
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the connection was closed without an answer')))
    socket.write(`*${words.length}\r\n${command.join('')}`)
  })
}

export async function findRedis(): Promise<string> {
  const found = findProgram('redis-server', ['/usr/bin'])
  if (found !== undefined) return found
  await aptInstall('Redis', ['redis-server'])
  const command = findProgram('redis-server', ['/usr/bin'])
  if (command === undefined) throw new Error('apt-get has installed redis-server, and it is not on the PATH')
  return command
}
