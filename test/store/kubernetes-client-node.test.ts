import { fromClientNode } from 'ipam-kit/store/kubernetes'
import { describe, expect, it } from 'vitest'

/** As much of client-node as is used. */
class FakeConfig {
  readonly sent: object[] = []
  authenticate: () => void | Promise<void> = () => {}
  /** What authentication does to a request besides. */
  equip: (request: object) => void = () => {}
  applyToHTTPSOptions?: (told: object) => Promise<void>
  answer = { httpStatusCode: 200, body: { text: async () => '{}' } }

  makeApiClient<T extends object>(type: new (configuration: never) => T): T {
    const request = (path: string, method: string) => {
      const parts: { [key: string]: unknown } = { path, method, headers: {} }
      return {
        parts,
        setHeaderParam: (name: string, value: string) => {
          parts.headers = { ...(parts.headers as object), [name]: value }
        },
        setBody: (body: string) => {
          parts.body = body
        },
        setSignal: (signal: unknown) => {
          parts.signal = signal
        },
      }
    }
    const configuration = {
      baseServer: { makeRequestContext: request },
      httpApi: {
        send: ({ parts }: { parts: object }) => {
          this.sent.push(parts)
          return { toPromise: async () => this.answer }
        },
      },
      authMethods: {
        default: {
          applySecurityAuthentication: async (context: ReturnType<typeof request>) => {
            await this.authenticate()
            context.setHeaderParam('authorization', 'Bearer t')
            this.equip(context)
          },
        },
      },
    }
    return new type(configuration as never)
  }
}

const watch = { watch: async () => ({ abort() {} }) }

describe('fromClientNode', () => {
  it('sends a request as it is, with the credentials of the config', async () => {
    const config = new FakeConfig()
    config.answer = { httpStatusCode: 409, body: { text: async () => 'told' } }
    const client = fromClientNode(config, watch)
    const request = { method: 'PUT', path: '/api?x=1', headers: { accept: 'a' }, body: '{}' } as const
    expect(await client.request(request)).toEqual({ status: 409, body: 'told' })
    await client.request({ method: 'GET', path: '/b', headers: {} })
    const authorization = 'Bearer t'
    expect(config.sent).toEqual([
      { path: '/api?x=1', method: 'PUT', headers: { accept: 'a', authorization }, body: '{}' },
      { path: '/b', method: 'GET', headers: { authorization } },
    ])
  })

  it('gives each request a signal of its own', async () => {
    const config = new FakeConfig()
    const signals = [AbortSignal.timeout(1000), AbortSignal.timeout(2000)]
    let next = 0
    const client = fromClientNode(config, watch, { signal: () => signals[next++]! })
    await client.request({ method: 'GET', path: '/a', headers: {} })
    await client.request({ method: 'GET', path: '/b', headers: {} })
    expect(config.sent.map((each) => (each as { signal: unknown }).signal)).toEqual(signals)
  })

  it('tells that nothing was sent if there are no credentials', async () => {
    const config = new FakeConfig()
    const client = fromClientNode(config, watch)
    for (const cause of [new Error('exec: not found'), 'exec: not found']) {
      config.authenticate = () => Promise.reject(cause)
      await expect(client.request({ method: 'GET', path: '/', headers: {} })).rejects.toMatchObject({
        code: 'NOT_SENT',
        message: 'no credentials: exec: not found',
        cause,
      })
    }
    expect(config.sent).toEqual([])
  })

  it('passes on what the answer breaks with', async () => {
    const config = new FakeConfig()
    config.answer = { httpStatusCode: 200, body: { text: () => Promise.reject(new Error('cut')) } }
    const client = fromClientNode(config, watch)
    await expect(client.request({ method: 'GET', path: '/', headers: {} })).rejects.toThrow('cut')
  })

  it('watches with the watch', async () => {
    const calls: unknown[] = []
    const connection = { abort() {} }
    const client = fromClientNode(new FakeConfig(), {
      async watch(...given) {
        calls.push(given)
        return connection
      },
    })
    const given = ['/api', { limit: 1 }, () => {}, () => {}] as const
    expect(await client.watch(...given)).toBe(connection)
    expect(calls).toEqual([given])
  })

  describe('connections', () => {
    /** A config that makes an agent, or a dispatcher, for each request, as client-node does. */
    const connecting = (make: 'Agent' | 'Dispatcher') => {
      const config = new FakeConfig()
      const used: unknown[] = []
      const credentials: { [option: string]: unknown } = { ca: Buffer.from('ca'), cert: undefined }
      config.equip = (request) => {
        const parts = request as { [method: string]: unknown }
        let transport: unknown
        parts[`get${make}`] = () => transport
        parts[`set${make}`] = (given: unknown) => {
          transport = given
          used.push(given)
        }
        const options = { ...credentials }
        ;(parts[`set${make}`] as (given: unknown) => void)(make === 'Agent' ? { keepAlive: false, options } : {})
      }
      config.applyToHTTPSOptions = async (told) => void Object.assign(told, credentials)
      const client = fromClientNode(config, watch)
      /** What a request has gone over. */
      const send = async () => {
        await client.request({ method: 'GET', path: '/', headers: {} })
        return used.at(-1)
      }
      return { config, credentials, send }
    }

    it.each(['Agent', 'Dispatcher'] as const)('are kept while the certificates are the same: %s', async (make) => {
      const { credentials, send } = connecting(make)
      const first = await send()
      expect(await send()).toBe(first)
      credentials.ca = Buffer.from('ca')
      expect(await send()).toBe(first)
      credentials.cert = 'of today'
      const second = await send()
      expect(second).not.toBe(first)
      expect(await send()).toBe(second)
      credentials.ca = [Buffer.from('ca'), 'other']
      const third = await send()
      expect(third).not.toBe(second)
      expect(await send()).toBe(third)
    })

    it('an agent is told to keep them', async () => {
      expect(await connecting('Agent').send()).toMatchObject({ keepAlive: true })
    })

    it('are not kept if it cannot be told as whom they are made', async () => {
      const { config, send } = connecting('Dispatcher')
      delete config.applyToHTTPSOptions
      expect(await send()).not.toBe(await send())
    })
  })
})
