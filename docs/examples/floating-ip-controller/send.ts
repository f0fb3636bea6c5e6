import type { SendRequest } from 'ipam-kit/provider/openstack'

/**
 * Sends requests with the `fetch` of Node. A redirect is not followed: it would take the token to
 * another host.
 */
export const sendRequest: SendRequest = async ({ method, url, headers, body, timeoutMs }) => {
  const signal = AbortSignal.timeout(timeoutMs)
  const answer = await fetch(url, { method, headers, body: body ?? null, signal, redirect: 'manual' })
  return { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() }
}
