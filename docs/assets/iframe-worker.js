// The search runs in a Worker, and browsers refuse workers to pages that come from disk. There, and only there, this
// stands in for it: the same script in a hidden frame, messages passed on in both directions.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe")
    #ready

    constructor(url) {
      super()
      this.#frame.hidden = true
      this.#frame.srcdoc = `<html><body><script>
        postMessage = message => parent.dispatchEvent(new MessageEvent("frame-worker", {data: message, source: window}))
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {
          const script = document.body.appendChild(document.createElement("script"))
          script.onload = done
          script.onerror = failed
          script.src = url
        })), Promise.resolve())
      <\/script><script src="${url}"><\/script></body></html>`
      this.#ready = new Promise(done => { this.#frame.onload = done })
      window.addEventListener("frame-worker", event => {
        if (event.source === this.#frame.contentWindow)
          this.dispatchEvent(new MessageEvent("message", {data: event.data}))
      })
      document.body.appendChild(this.#frame)
    }

    postMessage(message) {
      this.#ready.then(() => this.#frame.contentWindow.dispatchEvent(new MessageEvent("message", {data: message})))
    }

    terminate() {
      this.#frame.remove()
    }
  }
}
